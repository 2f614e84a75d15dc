# Scores of R's forecasters on the splits of structure_forecast.py: Rscript structure_peers.R OUT.csv [METHOD...]
# Needs the Debian package r-cran-forecast. MASE: mean absolute error / in-sample seasonal-naive error. Of a long
# series the last 1000 values are fitted, as gpmem discover does; OUT.csv grows series by series, shortest first.
suppressMessages(library(forecast))
args <- commandArgs(trailingOnly = TRUE)
here <- dirname(normalizePath(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))))
root <- file.path(here, "..", "..", "shared", "data")
freq <- c("01-airline" = 12, "03-mauna" = 12, "07-call-centre" = 12, "08-radio" = 12, "09-gas-production" = 12,
          "10-sulphuric" = 12, "11-unemployment" = 12, AirPassengers = 12, UKDriverDeaths = 12, USAccDeaths = 12,
          co2 = 12, fdeaths = 12, ldeaths = 12, mdeaths = 12, nottem = 12, sunspot.month = 12, sunspots = 12,
          JohnsonJohnson = 4, UKgas = 4, austres = 4, freeny.y = 4, presidents = 4)
irregular <- c("05-temperature", "06-internet", "12-births")
read <- function(f) { d <- read.csv(f, na.strings = "NA"); d[!is.na(d[[2]]), ] }
splits <- list()
dir <- file.path(root, "lloyd13_extrap")
for (f in list.files(dir, "train.csv$")) {
  name <- sub(".train.csv", "", f)
  if (name %in% irregular) next
  splits[[name]] <- list(train = read(file.path(dir, f))[[2]], test = read(file.path(dir, paste0(name, ".test.csv")))[[2]])
}
dir <- file.path(root, "r")
for (f in list.files(dir, "csv$")) {
  if (grepl("_dates", f)) next
  y <- read(file.path(dir, f))[[2]]
  k <- max(1, round(length(y) * 0.1))
  splits[[sub(".csv", "", f)]] <- list(train = head(y, -k), test = tail(y, k))
}
methods <- list(
  ETS = function(y, h) forecast(ets(y), h = h, level = 95),
  auto.arima = function(y, h) forecast(auto.arima(y), h = h, level = 95),
  TBATS = function(y, h) forecast(tbats(y, use.parallel = FALSE), h = h, level = 95),
  HoltWinters = function(y, h) forecast(HoltWinters(y, gamma = if (frequency(y) > 1) NULL else FALSE), h = h, level = 95),
  Theta = function(y, h) thetaf(y, h = h, level = 95),
  snaive = function(y, h) snaive(y, h = h, level = 95))
if (length(args) > 1) methods <- methods[args[-1]]
rows <- list()
for (name in names(splits)[order(sapply(splits, function(s) length(s$train)))]) {
  s <- splits[[name]]
  m <- if (name %in% names(freq)) freq[[name]] else 1
  y <- ts(tail(s$train, 1000), frequency = m)
  scale <- mean(abs(diff(s$train, lag = m)))
  for (k in names(methods)) {
    r <- tryCatch({
      f <- methods[[k]](y, length(s$test))
      c(mean(abs(s$test - as.numeric(f$mean))) / scale, mean(s$test >= f$lower[, 1] & s$test <= f$upper[, 1]))
    }, error = function(e) c(NA, NA))
    rows[[length(rows) + 1]] <- data.frame(series = name, method = k, mase = r[1], coverage = r[2])
  }
  out <- do.call(rbind, rows)
  if (length(args)) write.csv(out, args[1], row.names = FALSE)
}
lloyd <- grepl("^[01][0-9]-", out$series)
for (set in c("lloyd", "r")) {
  d <- out[if (set == "lloyd") lloyd else !lloyd, ]
  for (k in names(methods)) {
    e <- d[d$method == k & !is.na(d$mase), ]
    cat(sprintf("%-6s %-12s n=%2d MASE %.3f coverage %.3f\n", set, k, nrow(e), exp(mean(log(pmax(e$mase, 1e-9)))), mean(e$coverage)))
  }
}
