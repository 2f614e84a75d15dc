# SPDX-License-Identifier: Apache-2.0
# The structure of time series.

discover <- function(x, ...) UseMethod("discover")

# Numbers as the library reads them.
as_number_texts <- function(v) ifelse(is.na(v), "", format(v, digits = 15, trim = TRUE, scientific = FALSE))

# A column of numbers, whatever it came as; anything else would be read as codes or not at all.
as_numbers <- function(v, what) {
  if (!is.numeric(v) && !is.logical(v)) stop(what, " must hold numbers, and NA where one is missing")
  v <- as.numeric(v)
  if (any(is.infinite(v))) stop(what, " must hold finite numbers, and NA where one is missing")
  v
}

# Columns of texts as lines of CSV, names first.
csv_lines <- function(columns, names = base::names(columns))
  c(paste(names, collapse = ","), do.call(paste, c(unname(columns), sep = ",")))

# The same with times and numbers.
table_csv <- function(time, ...)
  paste0(csv_lines(c(list(x = as_times(time)), lapply(c(...), as_number_texts))), "\n", collapse = "")

as_times <- function(time) {
  if (anyNA(time)) stop("times must not be missing")
  if (inherits(time, "Date")) return(format(time, "%Y-%m-%d"))
  if (inherits(time, "POSIXt")) {
    time <- as.POSIXct(time)
    fine <- any(abs(as.numeric(time) - round(as.numeric(time))) > 5e-7)
    if (fine) time <- time + 5e-7 # seconds are cut, not rounded
    return(format(time, if (fine) "%Y-%m-%dT%H:%M:%OS6" else "%Y-%m-%dT%H:%M:%S", tz = "UTC"))
  }
  if (is.numeric(time)) return(format(as.numeric(time), digits = 15, trim = TRUE, scientific = FALSE))
  as.character(time)
}

# Columns that act on the values, by name.
as_columns <- function(X, names = NULL) {
  X <- as.data.frame(X, check.names = FALSE)
  if (missing(names)) names <- colnames(X)
  unknown <- setdiff(names, colnames(X))
  if (length(unknown)) stop("there is no column called ", paste(sQuote(unknown), collapse = ", "))
  if (any(names %in% c("x", "y") | grepl("[,\"\n]", names)))
    stop("columns that act on the values are not called x or y, and have no comma or quote in their names")
  out <- lapply(names, function(n) as_numbers(X[[n]], paste("column", sQuote(n))))
  names(out) <- names
  out
}

bound_text <- function(v) if (!is.null(v)) format(as.double(v), digits = 15)
joined <- function(v) if (length(v)) paste(v, collapse = ",")

discover_options <- function(log = c("auto", "never", "always"), seed = 1, threads = 0, level = 0.95, kernels = NULL,
                             changepoints = FALSE, max_seconds = 0, max_points = 0, holdout = 0, backtest = 0, horizon = 0,
                             every = NULL, time = NULL, value = NULL, with = NULL, smooth = NULL, holidays = NULL,
                             per_day = FALSE, least = NULL, most = NULL, date_format = NULL,
                             decimal = c("auto", "point", "comma"), missing = NULL, skip_bad = FALSE,
                             take = c("auto", "mean", "total", "count", "median", "last", "min", "max"),
                             precision = c("normal", "low", "high")) {
  take <- match(match.arg(take), c("auto", "mean", "total", "count", "median", "last", "min", "max")) - 1
  log <- match(match.arg(log), c("auto", "never", "always")) - 1
  precision <- match(match.arg(precision), c("normal", "low", "high")) - 1
  decimal <- match(match.arg(decimal), c("auto", "point", "comma")) - 1
  text <- function(v) if (!is.null(v)) as.character(v)
  list(seed = seed, threads = threads, level = level, kernels = joined(kernels), changepoints = changepoints,
       max_seconds = max_seconds, max_points = max_points, holdout = holdout, backtest = backtest, horizon = horizon,
       every = text(every), time = text(time), value = text(value), with = joined(setdiff(with, smooth)), smooth = joined(smooth),
       holidays = if (!is.null(holidays)) path.expand(holidays), per_day = per_day, least = bound_text(least),
       most = bound_text(most), date_format = date_format, decimal = decimal, missing = joined(missing), log = log,
       skip_bad = skip_bad, take = take, precision = precision)
}

new_discovery <- function(handle, x, level, others = NULL, time_name = NULL) {
  object <- list(handle = handle, x = x, level = level, others = others, time_name = time_name)
  object$result <- jsonlite::fromJSON(.Call(C_discover_report, handle, 1L), simplifyVector = TRUE)
  s <- object$result$structures
  object$structures <- data.frame(structure = s$struct, probability = s$probability)
  structure(object, class = "gpmem_discovery")
}

run_discover <- function(csv, path, x, ..., level = 0.95, folder = NULL, others = NULL, time_name = NULL) {
  object <- new_discovery(.Call(C_discover_run, csv, path, discover_options(..., level = level)), x, level, others, time_name)
  if (!is.null(folder)) {
    object$folder <- normalizePath(folder, mustWork = FALSE)
    .Call(C_discover_save, object$handle, object$folder)
  }
  object
}

# After readRDS() the handle is gone: a run that was kept in a folder is opened again.
discovery_handle <- function(object) {
  if (.Call(C_gp_alive, object$handle) || is.null(object$folder)) return(object$handle)
  .Call(C_discover_open, object$folder)
}

discover.default <- function(x, time = NULL, X = NULL, smooth = NULL, ...) {
  if (is.matrix(x) && ncol(x) > 1) stop("one series at a time: choose a column, or discover_panel()")
  x <- as_numbers(x, "the series")
  if (is.null(time)) time <- seq_along(x)
  if (length(time) != length(x)) stop("there are ", length(x), " values and ", length(time), " times")
  discover_values(x, time, X, smooth, x, ...)
}

# Values at times, with the columns of X beside them.
discover_values <- function(value, time, X, smooth, x, ..., time_name = NULL) {
  if (is.null(X)) {
    if (!is.null(smooth)) stop("smooth names columns of X")
    return(run_discover(table_csv(time, list(y = value)), NULL, x, ...))
  }
  others <- as_columns(X)
  if (any(lengths(others) != length(value))) stop("there are ", length(value), " values and ", length(others[[1]]), " rows of X")
  as_columns(X, smooth)
  run_discover(table_csv(time, list(y = value), others), NULL, x, time = "x", value = "y", with = names(others), smooth = smooth, ...,
               others = names(others), time_name = time_name)
}

discover.ts <- function(x, X = NULL, smooth = NULL, ...) {
  if (is.matrix(x) && ncol(x) > 1) stop("one series at a time: choose a column, or discover_panel()")
  discover_values(as_numbers(x, "the series"), ts_times(time(x), frequency(x)), X, smooth, x, ...)
}

# Times of a ts as the library writes them: months and quarters by name, everything else as numbers.
ts_times <- function(t, frequency) {
  t <- as.numeric(t)
  year <- floor(t + 1e-6)
  if (frequency == 12) return(sprintf("%d-%02d", as.integer(year), as.integer(round((t - year) * 12)) + 1L))
  if (frequency == 4) return(sprintf("%dQ%d", as.integer(year), as.integer(round((t - year) * 4)) + 1L))
  format(t, digits = 15, trim = TRUE, scientific = FALSE)
}

discover.data.frame <- function(x, time = 1, value = 2, with = NULL, smooth = NULL, ...) {
  if (ncol(x) < 2) stop("a data frame needs a column of times and one of values")
  column <- function(which) {
    if (is.character(which) && !which %in% names(x)) stop("there is no column called ", sQuote(which))
    x[[which]]
  }
  values <- as_numbers(column(value), "the column of values")
  others <- as_columns(x, union(with, smooth))
  discover_values(values, column(time), if (length(others)) others, smooth, values, ...,
                  time_name = if (is.character(time)) time else names(x)[time])
}

discover.character <- function(x, ...) run_discover(NULL, path.expand(x), NULL, ...)

# Several series of a data frame, a matrix of ts or a file: in its columns, or told apart by one column.
discover_panel <- function(x, by = NULL, independent = FALSE, ...) {
  path <- x
  if (!is.character(x)) {
    path <- tempfile(fileext = ".csv")
    on.exit(unlink(path))
    writeLines(panel_csv(x), path, useBytes = TRUE)
  } else path <- path.expand(x)
  options <- discover_options(...)
  runs <- .Call(C_panel_run, path, by, independent, options)
  failed <- vapply(runs, is.character, NA)
  structure(lapply(runs[!failed], new_discovery, x = NULL, level = options$level), class = "gpmem_panel",
            errors = unlist(runs[failed]))
}

# A column of any kind as cells of CSV.
quoted_texts <- function(v) ifelse(is.na(v), "", paste0("\"", gsub("\"", "\"\"", enc2utf8(as.character(v))), "\""))
cell_texts <- function(v) {
  if (inherits(v, c("Date", "POSIXt"))) return(ifelse(is.na(v), "", as_times(replace(v, is.na(v), v[!is.na(v)][1]))))
  if (is.numeric(v)) as_number_texts(v) else quoted_texts(v)
}

panel_csv <- function(x) {
  if (is.ts(x)) {
    if (!is.matrix(x)) stop("a single series: discover() takes it")
    x <- data.frame(time = ts_times(time(x), frequency(x)), unclass(x), check.names = FALSE)
  }
  x <- if (is.matrix(x)) data.frame(time = seq_len(nrow(x)), x, check.names = FALSE) else as.data.frame(x)
  csv_lines(lapply(x, cell_texts), quoted_texts(names(x)))
}

print.gpmem_panel <- function(x, ...) {
  top <- lapply(x, function(d) d$structures[1, ])
  if (length(top)) print(data.frame(series = names(x), do.call(rbind, top), row.names = NULL), digits = 3)
  errors <- attr(x, "errors")
  if (length(errors)) cat(paste0(names(errors), ": ", errors, "\n"), sep = "")
  invisible(x)
}

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

# Probabilities of structures, components or motifs; the changes that are dated; or the components over time.
as.data.frame.gpmem_discovery <- function(x, row.names = NULL, optional = FALSE,
                                          of = c("structures", "components", "motifs", "changes", "parts"), ...) {
  of <- match.arg(of)
  r <- x$result[[of]]
  if (of == "changes") return(if (is.data.frame(r)) r else data.frame())
  if (of != "parts") return(data.frame(name = r[[if (of == "motifs") "motif" else "struct"]], probability = r$probability, error = r$error))
  d <- x$result$decomposition
  parts <- d$parts
  do.call(rbind, lapply(seq_along(parts$struct), function(i)
    data.frame(x = d$x, part = make.unique(parts$struct)[i], mean = parts$mean[[i]], sd = parts$sd[[i]])))
}

discovery_report <- function(object, format = c("text", "json", "markdown", "html", "program"), file = NULL) {
  format <- match.arg(format)
  text <- .Call(C_discover_report, discovery_handle(object), match(format, c("text", "json", "markdown", "html", "program")) - 1L)
  if (is.null(file)) return(text)
  writeLines(text, path.expand(file), useBytes = TRUE)
  invisible(text)
}

# What other columns will be, as CSV beside the times.
future_csv <- function(object, newdata, times) {
  if (is.null(object$others)) stop("newdata is for runs with other columns (with =, smooth =, X =)")
  if (is.null(times)) times <- newdata[[if (is.null(object$time_name)) "time" else object$time_name]]
  if (is.null(times)) stop("when? newdata has no column of times; give times =")
  table_csv(times, as_columns(newdata, object$others))
}

predict.gpmem_discovery <- function(object, h = 10, times = NULL, level = object$level, newdata = NULL, quantiles = NULL,
                                    paths = 0, ...) {
  if (length(object$others) && is.null(newdata))
    stop("what will ", paste(object$others, collapse = ", "), " be? Give newdata =, a data frame with times and these columns")
  table <- if (!is.null(newdata)) future_csv(object, newdata, times)
  csv <- .Call(C_discover_forecast, discovery_handle(object), if (is.null(times)) h else 0,
               if (is.null(times)) NULL else as_times(times), table, as.double(level), as.double(quantiles), paths)
  read.csv(text = csv, check.names = FALSE)
}

default_horizon <- function(x) if (is.ts(x) && frequency(x) > 1) 2 * frequency(x) else 10

# An object of the package forecast: its plot, autoplot and accuracy take it.
forecast.gpmem_discovery <- function(object, h = default_horizon(object$x), level = c(80, 95), ...) {
  level <- ifelse(level > 1, level, 100 * level)
  each <- lapply(level / 100, function(l) predict(object, h, level = l, ...))
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
