# SPDX-License-Identifier: Apache-2.0
# The structure of time series.

discover <- function(x, ...) UseMethod("discover")

series_csv <- function(time, value) {
  value <- ifelse(is.na(value), "", format(value, digits = 15, trim = TRUE, scientific = FALSE))
  paste0("x,y\n", paste(time, value, sep = ",", collapse = "\n"), "\n")
}

as_times <- function(time) {
  if (inherits(time, "Date")) return(format(time, "%Y-%m-%d"))
  if (inherits(time, "POSIXt")) return(format(as.POSIXct(time), "%Y-%m-%dT%H:%M:%S", tz = "UTC"))
  if (is.numeric(time)) return(format(time, digits = 15, trim = TRUE, scientific = FALSE))
  as.character(time)
}

run_discover <- function(csv, path, x, log = c("auto", "never", "always"), seed = 1, threads = 0, level = 0.95,
                         kernels = NULL, max_seconds = 0, holdout = 0, time = NULL, value = NULL, folder = NULL) {
  log <- match(match.arg(log), c("auto", "never", "always")) - 1
  options <- list(seed = seed, threads = threads, level = level, kernels = kernels, max_seconds = max_seconds,
                  holdout = holdout, log = log, time = time, value = value)
  object <- list(handle = .Call(C_discover_run, csv, path, options), x = x, level = level)
  object$result <- jsonlite::fromJSON(.Call(C_discover_report, object$handle, 1L), simplifyVector = TRUE)
  if (!is.null(folder)) {
    object$folder <- normalizePath(folder, mustWork = FALSE)
    .Call(C_discover_save, object$handle, object$folder)
  }
  s <- object$result$structures
  object$structures <- data.frame(structure = s$struct, probability = s$probability)
  structure(object, class = "gpmem_discovery")
}

# After readRDS() the handle is gone: a run that was kept in a folder is opened again.
discovery_handle <- function(object) {
  if (.Call(C_gp_alive, object$handle) || is.null(object$folder)) return(object$handle)
  .Call(C_discover_open, object$folder)
}

discover.default <- function(x, time = NULL, ...) {
  x <- as.numeric(x)
  if (any(is.infinite(x))) stop("the series must hold finite numbers, and NA where one is missing")
  if (is.null(time)) time <- seq_along(x)
  if (length(time) != length(x)) stop("there are ", length(x), " values and ", length(time), " times")
  run_discover(series_csv(as_times(time), x), NULL, x, ...)
}

discover.ts <- function(x, ...) {
  if (is.matrix(x)) stop("one series at a time: choose a column")
  object <- run_discover(series_csv(ts_times(time(x), frequency(x)), as.numeric(x)), NULL, x, ...)
  object
}

# Times of a ts as the library writes them: months and quarters by name, everything else as numbers.
ts_times <- function(t, frequency) {
  t <- as.numeric(t)
  year <- floor(t + 1e-6)
  if (frequency == 12) return(sprintf("%d-%02d", as.integer(year), as.integer(round((t - year) * 12)) + 1L))
  if (frequency == 4) return(sprintf("%dQ%d", as.integer(year), as.integer(round((t - year) * 4)) + 1L))
  format(t, digits = 15, trim = TRUE, scientific = FALSE)
}

discover.data.frame <- function(x, time = 1, value = 2, ...) {
  if (ncol(x) < 2) stop("a data frame needs a column of times and one of values")
  discover.default(x[[value]], time = x[[time]], ...)
}

discover.character <- function(x, ...) run_discover(NULL, path.expand(x), NULL, ...)

print.gpmem_discovery <- function(x, ...) {
  s <- x$structures
  cat("structure, most probable of ", nrow(s), ":\n", sep = "")
  print(head(transform(s, probability = round(s$probability, 3)), 5), row.names = FALSE)
  invisible(x)
}

summary.gpmem_discovery <- function(object, ...) {
  cat(.Call(C_discover_report, discovery_handle(object), 0L))
  invisible(object)
}

structure_probability <- function(object, question) {
  a <- .Call(C_discover_query, discovery_handle(object), question)
  c(probability = a[1], error = a[2])
}

predict.gpmem_discovery <- function(object, h = 10, times = NULL, level = object$level, ...) {
  csv <- .Call(C_discover_forecast, discovery_handle(object), if (is.null(times)) as.double(h) else 0,
               if (is.null(times)) NULL else as_times(times), as.double(level))
  read.csv(text = csv, check.names = FALSE)
}

default_horizon <- function(x) if (is.ts(x) && frequency(x) > 1) 2 * frequency(x) else 10

# An object of the package forecast: its plot, autoplot and accuracy take it.
forecast.gpmem_discovery <- function(object, h = default_horizon(object$x), level = c(80, 95), ...) {
  level <- ifelse(level > 1, level, 100 * level)
  each <- lapply(level / 100, function(l) predict(object, h, level = l))
  x <- if (is.ts(object$x)) object$x else ts(object$x)
  as_future <- function(v) ts(v, start = tsp(x)[2] + 1 / frequency(x), frequency = frequency(x))
  bounds <- function(name) {
    m <- do.call(cbind, lapply(each, `[[`, name))
    colnames(m) <- paste0(level, "%")
    as_future(m)
  }
  structure(list(method = paste("gpmem:", object$structures$structure[1]), model = object, level = level,
                 mean = as_future(each[[1]]$median), lower = bounds("lo"), upper = bounds("hi"), x = x, series = "x",
                 fitted = x * NA, residuals = x * NA), class = "forecast")
}

plot.gpmem_discovery <- function(x, h = 24, xlab = "time", ylab = "value", ...) {
  f <- forecast.gpmem_discovery(x, h)
  t <- as.numeric(time(f$mean))
  last <- ncol(f$lower)
  plot(range(time(f$x), t), range(f$x, f$lower, f$upper, na.rm = TRUE), type = "n", xlab = xlab, ylab = ylab, ...)
  for (i in last:1)
    polygon(c(t, rev(t)), c(f$lower[, i], rev(f$upper[, i])), col = adjustcolor("#0072b2", 0.2), border = NA)
  lines(f$x)
  lines(f$mean, col = "#0072b2", lwd = 2)
  invisible(f)
}
