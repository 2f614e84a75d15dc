# SPDX-License-Identifier: Apache-2.0
# Bayesian optimisation of functions of R.

variable_text <- function(name, v) {
  if (is.character(v)) {
    if (any(grepl("[,:\"]", v))) v <- vapply(v, function(l) as.character(jsonlite::toJSON(l, auto_unbox = TRUE)), "")
    return(paste0(name, "=", paste(v, collapse = ",")))
  }
  if (!is.numeric(v) || length(v) != 2 || anyNA(v)) stop("variable '", name, "' is c(low, high), or the levels of a category")
  bounds <- format(as.double(v), digits = 15, trim = TRUE, scientific = FALSE)
  flags <- c(if (isTRUE(attr(v, "log"))) "log", if (is.integer(v) || isTRUE(attr(v, "integer"))) "int")
  paste(c(paste0(name, "=", bounds[1]), bounds[2], flags), collapse = ":")
}

optimize_bayes <- function(f, space, budget = 50, maximize = FALSE, noisy = FALSE, initial = 0, seed = 1, store = NULL,
                           verbose = FALSE) {
  f <- match.fun(f)
  if (!length(space) || is.null(names(space)) || any(names(space) == "")) stop("space is a list of named variables")
  text <- mapply(variable_text, names(space), space)
  handle <- .Call(C_optimizer_new, unname(text), list(seed = seed, maximize = maximize, noisy = noisy, initial = initial,
                                                      store = if (!is.null(store)) path.expand(store)))
  values <- function(x) {
    p <- as.list(x)
    names(p) <- names(space)
    for (n in names(space)) if (is.numeric(space[[n]])) p[[n]] <- as.numeric(p[[n]])
    p
  }
  history <- list()
  for (i in seq_len(budget)) {
    a <- .Call(C_optimizer_ask, handle)
    p <- values(a$x)
    why <- NA_character_
    y <- tryCatch(as.double(do.call(f, p))[1], error = function(e) {
      why <<- conditionMessage(e)
      NaN
    })
    .Call(C_optimizer_tell, handle, a$id, y)
    history[[i]] <- data.frame(p, value = y, failure = why)
    if (verbose) message(i, ": ", format(y, digits = 6))
  }
  best <- .Call(C_optimizer_best, handle)
  if (is.null(best)) stop("no evaluation succeeded; the last one failed: ", history[[length(history)]]$failure)
  structure(list(par = values(best$x), value = best$value, mean = best$mean, sd = best$sd, history = do.call(rbind, history),
                 maximize = maximize, report = .Call(C_optimizer_report, handle, 0L)), class = "gpmem_optimum")
}

print.gpmem_optimum <- function(x, ...) {
  cat(if (x$maximize) "largest" else "smallest", "value found in", nrow(x$history), "evaluations:", format(x$value, digits = 8), "\n")
  cat(paste0("  ", names(x$par), " = ", vapply(x$par, format, "", digits = 6), "\n"), sep = "")
  failed <- sum(!is.na(x$history$failure))
  if (failed) cat(failed, "evaluations failed\n")
  invisible(x)
}

plot.gpmem_optimum <- function(x, xlab = "evaluation", ylab = "value", ...) {
  y <- x$history$value
  worst <- if (x$maximize) -Inf else Inf
  best <- (if (x$maximize) cummax else cummin)(ifelse(is.nan(y), worst, y))
  best[is.infinite(best)] <- NA
  plot(y, pch = 20, col = "grey60", xlab = xlab, ylab = ylab, ...)
  lines(best, col = "#0072b2", lwd = 2, type = "s")
  invisible(x)
}
