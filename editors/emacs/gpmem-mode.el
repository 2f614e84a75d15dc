;;; gpmem-mode.el --- Major mode for probabilistic programs of gpmem  -*- lexical-binding: t -*-

;; SPDX-License-Identifier: Apache-2.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, indents as `gpmem fmt' makes them, running and checking a program, and the language server
;; by eglot (Emacs 29 has it): M-x eglot.  The lists of names are filled in by tools/editors.

;;; Code:

(require 'compile)

(defgroup gpmem nil "Probabilistic programs." :group 'languages)

(defcustom gpmem-program "gpmem"
  "The command-line tool."
  :type 'string)

(defcustom gpmem-indent-offset 2
  "Blanks of one level."
  :type 'integer)

(defconst gpmem-directives '({{"directive"}}))
(defconst gpmem-control '({{"control"}}))
(defconst gpmem-constants '({{"constant"}}))
(defconst gpmem-forms '({{"form"}}))
(defconst gpmem-distributions '({{"random"}}))
(defconst gpmem-makers '({{"maker"}}))
(defconst gpmem-operators '({{"operator"}}))
(defconst gpmem-procedures '({{"procedure"}}))

(defvar gpmem-font-lock-keywords
  (let ((word (lambda (names face) (cons (regexp-opt names 'symbols) face))))
    (list (funcall word gpmem-directives 'font-lock-keyword-face)
          (funcall word gpmem-control 'font-lock-keyword-face)
          (funcall word gpmem-constants 'font-lock-constant-face)
          (funcall word gpmem-forms 'font-lock-preprocessor-face)
          (funcall word gpmem-distributions 'font-lock-type-face)
          (funcall word gpmem-makers 'font-lock-type-face)
          (funcall word gpmem-operators 'font-lock-builtin-face)
          (funcall word gpmem-procedures 'font-lock-function-name-face)
          '("#[A-Za-z_][A-Za-z0-9_]*" . font-lock-variable-name-face))))

(defvar gpmem-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (dolist (c (string-to-list "+-=<>&|~$%")) (modify-syntax-entry c "." table))
    ;; line comments; blocks /** ... **/ nest
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\n "> b" table)
    table))

(defun gpmem--continues-p ()
  "Non-nil when the line before point goes on with its statement here."
  (save-excursion
    (forward-comment (- (point)))
    (and (> (point) (point-min))
         (not (memq (char-before) '(?\; ?{ ?} ?\( ?\[ ?,))))))

(defun gpmem-indent-line ()
  "Indent the line: two more than the line of the bracket that is open."
  (interactive)
  (let* ((depth (save-excursion (back-to-indentation) (syntax-ppss)))
         (open (nth 1 depth))
         (column (save-excursion
                   (back-to-indentation)
                   (cond ((or (nth 3 depth) (nth 4 depth)) nil) ; inside a text or a comment
                         ((and (looking-at "else\\_>") (search-backward "}" nil t)) ; as the branch before
                          (goto-char (scan-sexps (1+ (point)) -1))
                          (current-indentation))
                         (open (let ((closes (looking-at "[])}]")))
                                 (goto-char open)
                                 (+ (current-indentation) (if closes 0 gpmem-indent-offset))))
                         ((and (not (looking-at "//")) (gpmem--continues-p)) gpmem-indent-offset)
                         (t 0)))))
    (when column
      (if (<= (current-column) (current-indentation))
          (indent-line-to column)
        (save-excursion (indent-line-to column))))))

(defun gpmem--compile (command)
  "Run COMMAND of the tool on the file of this buffer."
  (unless buffer-file-name (user-error "The buffer has no file"))
  (save-buffer)
  (compile (mapconcat #'shell-quote-argument (list gpmem-program command buffer-file-name) " ")))

(defun gpmem-run ()
  "Run the program of this buffer."
  (interactive)
  (gpmem--compile "run"))

(defun gpmem-check ()
  "Look for mistakes in the program of this buffer."
  (interactive)
  (gpmem--compile "check"))

(defun gpmem-format ()
  "Lay the buffer out by `gpmem fmt'."
  (interactive)
  (let ((source (current-buffer)) (place (point)))
    (with-temp-buffer
      (let ((out (current-buffer)))
        (with-current-buffer source
          (unless (zerop (call-process-region nil nil gpmem-program nil (list out nil) nil "fmt"))
            (user-error "The program does not parse")))
        (with-current-buffer source
          (replace-buffer-contents out)
          (goto-char (min place (point-max))))))))

(defvar gpmem-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'gpmem-run)
    (define-key map (kbd "C-c C-v") #'gpmem-check)
    (define-key map (kbd "C-c C-f") #'gpmem-format)
    map))

;;;###autoload
(define-derived-mode gpmem-mode prog-mode "gpmem"
  "Major mode for programs of gpmem."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "//+\\s *")
  (setq-local indent-line-function #'gpmem-indent-line)
  (setq-local indent-tabs-mode nil)
  (setq-local electric-indent-chars (append "{}()[]" electric-indent-chars))
  (setq font-lock-defaults '(gpmem-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(vnts?\\|gpm\\)\\'" . gpmem-mode))

(add-to-list 'compilation-error-regexp-alist-alist
             '(gpmem "^\\(.+?\\):\\([0-9]+\\):\\([0-9]+\\): \\(?:error\\|\\(warning\\)\\)\\[" 1 2 3 (4)))
(add-to-list 'compilation-error-regexp-alist 'gpmem)

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs `(gpmem-mode . (,gpmem-program "lsp"))))

(provide 'gpmem-mode)
;;; gpmem-mode.el ends here
