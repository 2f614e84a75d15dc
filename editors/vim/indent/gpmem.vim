" Indents of gpmem, as `gpmem fmt` lays programs out: two more than the line of the bracket that is open.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1
setlocal indentexpr=GpmemIndent() indentkeys=0{,0},0),0],0=else,!^F,o,O
let b:undo_indent = "setlocal indentexpr< indentkeys<"

function! s:IsText()
  return synIDattr(synID(line("."), col("."), 0), "name") =~# 'gpmem\(Comment\|Block\|String\)'
endfunction

" Does the text of a line end a statement, open a bracket, or hold nothing?
function! s:Ends(text)
  return substitute(a:text, '\s*//.*$', '', '') =~# '\(^\|[;{}(\[,]\)\s*$'
endfunction

function! GpmemIndent()
  call cursor(v:lnum, 1)
  if getline(v:lnum) =~# '^\s*else\>' && search('}', 'bW', 0, 0, 's:IsText()') > 0
    return indent(searchpair('{', '', '}', 'bnW', 's:IsText()')) " as the branch before
  endif
  let open = searchpair('[({[]', '', '[)}\]]', 'bnW', 's:IsText()')
  if open > 0
    return getline(v:lnum) =~# '^\s*[)}\]]' ? indent(open) : indent(open) + shiftwidth()
  endif
  let before = prevnonblank(v:lnum - 1)
  while before > 0 && getline(before) =~# '^\s*//'
    let before = prevnonblank(before - 1)
  endwhile
  return before > 0 && !s:Ends(getline(before)) ? shiftwidth() : 0
endfunction
