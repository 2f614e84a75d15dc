# SPDX-License-Identifier: Apache-2.0
# Gaussian-process regression.

as_points <- function(x, what = "x") {
  numbers <- function(v) is.numeric(v) || is.logical(v)
  if (is.data.frame(x)) {
    bad <- names(x)[!vapply(x, numbers, NA)]
    if (length(bad)) stop("columns of ", what, " must hold numbers; not so ", paste(sQuote(bad), collapse = ", "))
  } else if (!numbers(x)) stop(what, " must hold numbers")
  x <- if (is.data.frame(x)) data.matrix(x) else as.matrix(x)
  storage.mode(x) <- "double"
  if (!length(x)) stop(what, " has no values")
  if (anyNA(x) || any(is.infinite(x))) stop(what, " must hold finite numbers")
  x
}

default_kernel <- function(x, y) {
  scale <- apply(x, 2, sd)
  scale[!(scale > 0)] <- 1
  lengths <- format(scale * sqrt(ncol(x)), digits = 15)
  height <- sd(y)
  sprintf("SE(sf=%s, l=%s)", format(if (isTRUE(height > 0)) height else 1, digits = 15),
          if (ncol(x) == 1) lengths else paste0("[", paste(lengths, collapse = ", "), "]"))
}

gp <- function(x, y, kernel = NULL, noise = NULL, fit = TRUE, starts = 2, seed = 1) {
  x <- as_points(x)
  if (!is.numeric(y) && !is.logical(y)) stop("y must hold numbers")
  y <- as.double(y)
  if (nrow(x) != length(y)) stop("x has ", nrow(x), " points and y ", length(y), " values")
  if (anyNA(y) || any(is.infinite(y))) stop("y must hold finite numbers")
  if (is.null(kernel)) kernel <- default_kernel(x, y)
  keep <- !is.null(noise) && noise == 0
  if (is.null(noise)) noise <- if (length(y) > 1 && sd(y) > 0) sd(y) / 10 else 0.1
  object <- structure(list(x = x, y = y, mean = mean(y), call = match.call()), class = "gpmem_gp")
  object$handle <- .Call(C_gp_new, ncol(x), as.character(kernel), as.double(noise), object$mean, x, y)
  if (fit) .Call(C_gp_fit, object$handle, seed, starts, keep)
  c_facts <- .Call(C_gp_facts, object$handle)
  object[names(c_facts)] <- c_facts
  object$nobs <- length(y)
  object
}

gp_kernels <- function() .Call(C_kernel_rows)

# A handle does not outlive its session: after readRDS() it is made again from what the object holds.
gp_handle <- function(object) {
  if (.Call(C_gp_alive, object$handle)) return(object$handle)
  .Call(C_gp_new, ncol(object$x), object$kernel, object$noise, object$mean, object$x, object$y)
}

gp_newdata <- function(object, newdata) {
  if (is.null(newdata)) return(object$x)
  by_name <- colnames(object$x)
  if (is.data.frame(newdata) && length(by_name) && all(by_name %in% names(newdata))) newdata <- newdata[by_name]
  x <- as_points(newdata, "newdata")
  if (ncol(x) != ncol(object$x)) stop("newdata has ", ncol(x), " columns, the process ", ncol(object$x))
  x
}

print.gpmem_gp <- function(x, ...) {
  cat("Gaussian process on", x$nobs, "points in", ncol(x$x), if (ncol(x$x) == 1) "dimension\n" else "dimensions\n")
  cat("kernel:", x$kernel, "\n")
  cat("noise: ", format(x$noise, digits = 4), "  log likelihood: ", format(x$log_likelihood, digits = 6), "\n", sep = "")
  invisible(x)
}

summary.gpmem_gp <- function(object, ...) {
  r <- residuals(object)
  structure(list(object = object, residuals = summary(r), r.squared = 1 - sum(r^2) / sum((object$y - mean(object$y))^2)),
            class = "summary.gpmem_gp")
}

print.summary.gpmem_gp <- function(x, ...) {
  print(x$object)
  cat("\nparameters:\n")
  print(c(x$object$parameters, noise = x$object$noise), digits = 4)
  cat("\nresiduals:\n")
  print(x$residuals, digits = 4)
  cat("\nshare of variance explained: ", format(x$r.squared, digits = 4), "; computed by ", x$object$method, "\n", sep = "")
  invisible(x)
}

predict.gpmem_gp <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                             level = 0.95, covariance = FALSE, ...) {
  interval <- match.arg(interval)
  x <- gp_newdata(object, newdata)
  p <- .Call(C_gp_predict, gp_handle(object), x, interval == "prediction", covariance)
  if (covariance) return(list(fit = p$mean, cov = p$var))
  se <- sqrt(pmax(p$var, 0))
  fit <- p$mean
  if (interval != "none") {
    half <- qnorm((1 + level) / 2) * se
    fit <- cbind(fit = p$mean, lwr = p$mean - half, upr = p$mean + half)
  }
  if (se.fit) list(fit = fit, se.fit = se) else fit
}

simulate.gpmem_gp <- function(object, nsim = 1, seed = 1, newdata = NULL, ...) {
  if (is.null(seed)) seed <- sample.int(.Machine$integer.max, 1)
  draws <- .Call(C_gp_simulate, gp_handle(object), gp_newdata(object, newdata), nsim, seed)
  colnames(draws) <- paste0("sim_", seq_len(nsim))
  as.data.frame(draws)
}

logLik.gpmem_gp <- function(object, ...)
  structure(object$log_likelihood, df = length(object$parameters) + (object$noise > 0), nobs = object$nobs, class = "logLik")

fitted.gpmem_gp <- function(object, ...) predict(object)
residuals.gpmem_gp <- function(object, ...) object$y - predict(object)

plot.gpmem_gp <- function(x, n = 200, level = 0.95, xlab = "x", ylab = "y", ...) {
  if (ncol(x$x) != 1) stop("only processes of one variable are drawn; predict() serves the others")
  span <- range(x$x)
  at <- seq(span[1] - 0.05 * diff(span), span[2] + 0.05 * diff(span), length.out = n)
  p <- predict(x, at, interval = "prediction", level = level)
  plot(range(at), range(p, x$y), type = "n", xlab = xlab, ylab = ylab, ...)
  polygon(c(at, rev(at)), c(p[, "lwr"], rev(p[, "upr"])), col = adjustcolor("#0072b2", 0.2), border = NA)
  lines(at, p[, "fit"], col = "#0072b2", lwd = 2)
  points(x$x, x$y, pch = 20)
  invisible(data.frame(x = at, p))
}
