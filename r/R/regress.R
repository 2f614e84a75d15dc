# SPDX-License-Identifier: Apache-2.0
# Bayesian regression of tables with a Gaussian process.

gpm_regress <- function(x, ...) UseMethod("gpm_regress")

regress_options <- function(noise = c("auto", "normal", "robust"), seed = 1, threads = 0, level = 0.95, kernel = NULL,
                            max_rows = 0, y = NULL, inputs = NULL, missing = NULL, date_format = NULL,
                            decimal = c("auto", "point", "comma"),
                            family = c("auto", "normal", "bernoulli", "poisson", "negative_binomial"), rough = FALSE) {
  families <- c("auto", "normal", "bernoulli", "poisson", "negative_binomial")
  list(family = match(match.arg(family), families) - 1, noise = match(match.arg(noise), c("auto", "normal", "robust")) - 1, seed = seed, threads = threads, level = level,
       kernel = kernel, max_rows = max_rows, y = y, x = joined(inputs), missing = joined(missing), date_format = date_format,
       decimal = match(match.arg(decimal), c("auto", "point", "comma")) - 1, rough = isTRUE(rough))
}

# The table as the library reads it.
regress_csv <- function(data) paste0(csv_lines(lapply(data, cell_texts), quoted_texts(names(data))), "\n", collapse = "")

new_regression <- function(csv, path, options, terms = NULL, data = NULL) {
  handle <- .Call(C_regress_run, csv, path, options)
  object <- list(handle = handle, csv = csv, path = path, options = options, terms = terms, data = data)
  object$result <- jsonlite::fromJSON(.Call(C_regress_report, handle, 1L), simplifyVector = TRUE, simplifyDataFrame = FALSE)
  structure(object, class = "gpmem_regression")
}

# After readRDS() the handle is gone: the same table gives the same answer.
regression_handle <- function(object) {
  if (.Call(C_gp_alive, object$handle)) return(object$handle)
  .Call(C_regress_run, object$csv, object$path, object$options)
}

gpm_regress.formula <- function(x, data = environment(x), ...) {
  frame <- stats::model.frame(x, data, na.action = stats::na.pass)
  if (is.null(stats::model.response(frame))) stop("a formula has an outcome: y ~ a + b")
  if (is.matrix(frame[[1]])) stop("the outcome must be one column")
  options <- regress_options(..., y = names(frame)[1], decimal = "point")
  new_regression(regress_csv(frame), NULL, options, stats::delete.response(stats::terms(frame)), frame)
}

gpm_regress.data.frame <- function(x, y = names(x)[ncol(x)], inputs = setdiff(names(x), y), ...) {
  unknown <- setdiff(c(y, inputs), names(x))
  if (length(unknown)) stop("there is no column called ", paste(sQuote(unknown), collapse = ", "))
  x <- x[c(inputs, y)]
  new_regression(regress_csv(x), NULL, regress_options(..., y = y, decimal = "point"), data = x)
}

gpm_regress.character <- function(x, y = NULL, inputs = NULL, ...)
  new_regression(NULL, path.expand(x), regress_options(..., y = y, inputs = inputs))

predict.gpmem_regression <- function(object, newdata = NULL, ...) {
  if (is.null(newdata)) newdata <- object$data
  if (is.null(newdata)) stop("newdata: the rows to predict")
  rows <- row.names(newdata)
  if (!is.null(object$terms)) newdata <- stats::model.frame(object$terms, newdata, na.action = stats::na.pass)
  csv <- .Call(C_regress_predict, regression_handle(object), regress_csv(as.data.frame(newdata)))
  out <- read.csv(text = csv, check.names = FALSE, colClasses = "character")
  out <- out[seq(ncol(out) - 8, ncol(out))]
  out[1:8] <- lapply(out[1:8], as.numeric)
  row.names(out) <- rows
  out
}

fitted.gpmem_regression <- function(object, ...) setNames(predict(object)$mean, row.names(object$data))

# The inputs, what matters most first.
as.data.frame.gpmem_regression <- function(x, row.names = NULL, optional = FALSE, ...) {
  inputs <- x$result$inputs
  pick <- function(key, i) vapply(inputs, function(v) v[[key]][i], 0)
  data.frame(input = vapply(inputs, function(v) v$name, ""), share = pick("share", 1), share_lower = pick("share", 2),
             share_upper = pick("share", 3), change = pick("change", 1), change_lower = pick("change", 2),
             change_upper = pick("change", 3), how = vapply(inputs, function(v) v$shape, ""))
}

print.gpmem_regression <- function(x, ...) {
  cat(strwrap(x$result$summary), sep = "\n")
  cat("\n")
  print(as.data.frame(x), digits = 3, row.names = FALSE)
  invisible(x)
}

summary.gpmem_regression <- function(object, ...) {
  cat(.Call(C_regress_report, regression_handle(object), 0L))
  invisible(object)
}

regression_report <- function(object, format = c("text", "json", "html", "program"), file = NULL) {
  format <- match.arg(format)
  if (format == "program" && !is.null(object$options$kernel)) stop("the program is that of the usual model; leave kernel out")
  text <- .Call(C_regress_report, regression_handle(object), match(format, c("text", "json", "html", "program")) - 1L)
  if (is.null(file)) return(text)
  writeLines(text, path.expand(file), useBytes = TRUE)
  invisible(text)
}
