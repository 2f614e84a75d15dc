# SPDX-License-Identifier: Apache-2.0
# Bayesian optimisation of functions of R.

level_texts <- function(v)
  vapply(as.character(v), function(l) if (grepl("[,:<\" ]", l)) as.character(jsonlite::toJSON(l, auto_unbox = TRUE)) else l, "")

variable_text <- function(name, v) {
  kind <- attr(v, "kind") # gpm_shares(...), gpm_order(...)
  if (!is.null(kind)) return(paste0(paste(v, collapse = ","), "=", kind))
  when <- if (!is.null(attr(v, "when"))) paste(" when", attr(v, "when")) else ""
  if (is.ordered(v)) return(paste0(name, "=", paste(levels(v), collapse = "<"), when))
  if (is.factor(v)) v <- levels(v)
  if (is.character(v)) return(paste0(name, "=", paste(level_texts(v), collapse = ","), when))
  if (!is.numeric(v) || length(v) != 2 || anyNA(v))
    stop("variable '", name, "' is c(low, high), or the levels of a category")
  bounds <- vapply(as.double(v), format, "", digits = 15)
  flags <- c(if (isTRUE(attr(v, "log"))) "log", if (is.integer(v) || isTRUE(attr(v, "integer"))) "int",
             if (isTRUE(attr(v, "fidelity"))) "fidelity")
  paste0(paste(c(paste0(name, "=", bounds[1]), bounds[2], flags), collapse = ":"), when)
}

# A number between bounds with more to say of it; variables that sum to one; that are put into an order.
gpm_variable <- function(low, high, log = FALSE, integer = FALSE, fidelity = FALSE, when = NULL)
  structure(c(low, high), log = log, integer = integer, fidelity = fidelity, when = when)
gpm_category <- function(..., ordered = FALSE, when = NULL) {
  v <- as.character(c(...))
  structure(if (ordered) factor(v, levels = v, ordered = TRUE) else v, when = when)
}
gpm_shares <- function(...) structure(as.character(c(...)), kind = "shares")
gpm_order <- function(...) structure(as.character(c(...)), kind = "order")

space_names <- function(space) {
  several <- vapply(space, function(v) !is.null(attr(v, "kind")), NA)
  given <- names(space)
  if (is.null(given)) given <- rep("", length(space))
  if (!length(space) || any(given == "" & !several)) stop("space is a list of named variables")
  given
}

# name=value of every variable, as the library reads it.
point_text <- function(p, names) {
  unknown <- setdiff(names(p), names)
  if (length(unknown)) stop("start names ", paste(sQuote(unknown), collapse = ", "), ", which is no variable")
  value <- function(v) if (is.numeric(v)) format(v, digits = 15) else level_texts(v)
  paste(names(p), vapply(p, value, ""), sep = "=", collapse = " ")
}

# What f gave as the numbers of an evaluation, in their order; by name where there are names.
evaluation <- function(got, names) {
  got <- unlist(got)
  if (!is.numeric(got) && !is.logical(got)) stop("the function gave no number")
  if (length(names) == 1 && length(got) == 1) return(as.double(got))
  if (!is.null(names(got))) {
    lacking <- setdiff(names, names(got))
    if (length(lacking)) stop("the function gave no number called ", paste(sQuote(lacking), collapse = ", "))
    got <- got[names]
  } else if (length(got) != length(names)) {
    stop("the function gave ", length(got), " numbers, not ", length(names), ": ", paste(names, collapse = ", "))
  }
  as.double(got)
}

optimize_bayes <- function(f, space, budget = 50, maximize = FALSE, noisy = FALSE, initial = 0, seed = 1, store = NULL,
                           objectives = NULL, constraints = NULL, collect = NULL, start = NULL, from = NULL, verbose = FALSE) {
  f <- match.fun(f)
  check_count(budget, "budget", 1e9)
  text <- mapply(variable_text, space_names(space), space)
  if (!is.null(start) && !is.list(start[[1]])) start <- list(start)
  path <- function(p) if (!is.null(p)) path.expand(p)
  handle <- .Call(C_optimizer_new, list(seed = seed, maximize = maximize, noisy = noisy, initial = initial, store = path(store),
                                        from = path(from), variables = unname(text), objectives = as.character(objectives),
                                        constraints = as.character(constraints), collect = as.character(collect),
                                        start = vapply(start, point_text, "", variable_names(space))))
  names <- .Call(C_optimizer_names, handle)
  texts <- names(space)[vapply(space, function(v) (is.character(v) || is.factor(v)) && is.null(attr(v, "kind")), NA)]
  values <- function(x) {
    p <- as.list(x)
    names(p) <- names$variables
    for (n in setdiff(names$variables, texts)) p[[n]] <- as.numeric(p[[n]])
    p
  }
  history <- list()
  for (i in seq_len(budget)) {
    a <- .Call(C_optimizer_ask, handle)
    if (is.null(a)) break # there are no others
    p <- values(a$x)
    why <- NA_character_
    y <- tryCatch(evaluation(do.call(f, p), names$outputs), error = function(e) {
      why <<- conditionMessage(e)
      NULL
    })
    .Call(C_optimizer_tell, handle, a$id, y)
    if (!is.null(y) && !is.finite(y[1])) why <- "not a finite number"
    shown <- if (is.null(y)) rep(NaN, length(names$outputs)) else y
    history[[i]] <- data.frame(p, as.list(setNames(shown, names$outputs)), failure = why, check.names = FALSE)
    if (verbose) message(i, ": ", paste(format(shown, digits = 6), collapse = " "))
  }
  optimum(handle, names, values, do.call(rbind, history), maximize, noisy)
}

variable_names <- function(space)
  unlist(mapply(function(n, v) if (is.null(attr(v, "kind"))) n else as.character(v), space_names(space), space, SIMPLIFY = FALSE),
         use.names = FALSE)

optimum <- function(handle, names, values, history, maximize, noisy) {
  best <- .Call(C_optimizer_best, handle)
  if (is.null(best)) stop("no evaluation succeeded; the last one failed: ", history$failure[nrow(history)])
  outputs <- setNames(best$outputs, names$outputs)
  front <- jsonlite::fromJSON(.Call(C_optimizer_report, handle, 1L), simplifyVector = FALSE)$front
  # of noisy values the recommended point, not the one with the luckiest draw
  told <- noisy && !length(front) && is.finite(best$mean)
  there <- identical(best$at, best$x) # what is only collected is known of evaluations alone
  if (told) outputs <- c(setNames(best$mean, names$outputs[1]), if (there) outputs[-1])
  structure(list(par = values(if (told) best$at else best$x), value = unname(outputs[1]), outputs = outputs, feasible = best$feasible, mean = best$mean,
                 sd = best$sd, front = if (length(front)) do.call(rbind, lapply(front, function(p)
                   data.frame(values(unlist(p$x)[names$variables]), p$outputs, check.names = FALSE))),
                 history = history, maximize = maximize, noisy = told, report = .Call(C_optimizer_report, handle, 0L)), class = "gpmem_optimum")
}

print.gpmem_optimum <- function(x, ...) {
  if (!is.null(x$front)) {
    cat(nrow(x$front), "of", nrow(x$history), "evaluations are on the front: nothing is better in all objectives\n")
    print(x$front, row.names = FALSE, digits = 5)
  } else {
    cat(if (x$maximize) "largest" else "smallest", if (x$noisy) "mean by the model after" else "value found in", nrow(x$history),
        "evaluations:", format(x$value, digits = 8), if (x$noisy) paste("+-", format(x$sd, digits = 2)), "\n")
    cat(paste0("  ", names(x$par), " = ", vapply(x$par, format, "", digits = 6), "\n"), sep = "")
  }
  if (!x$feasible) cat("no evaluation keeps the constraints: this one breaks them least\n")
  failed <- sum(!is.na(x$history$failure))
  if (failed) cat(failed, "evaluations failed\n")
  invisible(x)
}

# The values in their order; with two objectives, one against the other.
plot.gpmem_optimum <- function(x, xlab = NULL, ylab = NULL, ...) {
  if (!is.null(x$front)) return(plot_front(x, xlab, ylab, ...))
  y <- x$history[[names(x$outputs)[1]]]
  worst <- if (x$maximize) -Inf else Inf
  best <- (if (x$maximize) cummax else cummin)(ifelse(is.nan(y), worst, y))
  best[is.infinite(best)] <- NA
  plot(y, pch = 20, col = "grey60", xlab = if (is.null(xlab)) "evaluation" else xlab, ylab = if (is.null(ylab)) "value" else ylab, ...)
  lines(best, col = "#0072b2", lwd = 2, type = "s")
  invisible(x)
}

plot_front <- function(x, xlab, ylab, ...) {
  of <- setdiff(names(x$front), names(x$par))[1:2]
  all <- x$history[of]
  plot(all, pch = 20, col = "grey60", xlab = if (is.null(xlab)) of[1] else xlab, ylab = if (is.null(ylab)) of[2] else ylab, ...)
  points(x$front[of], pch = 19, col = "#d55e00")
  invisible(x)
}
