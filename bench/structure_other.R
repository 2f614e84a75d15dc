# Series that are in R's packages, cut as those of the M3 competition: Rscript structure_other.R DIR
# Writes train.csv and test.csv for structure_m3.py --data DIR and structure_m3_peers.R --data=DIR. Needs the Debian packages
# r-cran-aer (with lmtest, sandwich, strucchange), r-cran-forecast, r-cran-tseries and r-cran-urca.
# Windows without overlap from the end of each series, at most four: 44 quarters and 8 to forecast, 108 months and 18,
# 40 years and 6; shorter series whole. Nothing that ../shared/data has, no series twice, no differences, no logarithms.
out <- commandArgs(trailingOnly = TRUE)[1]
ahead <- c("1" = 6, "4" = 8, "12" = 18); long <- c("1" = 46, "4" = 52, "12" = 126)
period <- c("1" = "YEARLY", "4" = "QUARTERLY", "12" = "MONTHLY")
leave <- "\\.dy|NelPlo|nino\\.|tcm\\.|USeconomic|log|tseries\\.(GNP|M1|rs|rl)$|USMacroSW.?\\.(tbill|unemp|gdp)$|USMacroB\\.(gnp|tbill)|USMoney\\.m1|bondyield\\.[YK]$|PhillipsCurve\\.(dp1|u1|du)$|durab\\.lag|forecast\\.gas$|ArgentinaCPI"
series <- list()
for (p in c("AER", "lmtest", "strucchange", "tseries", "forecast", "urca")) for (item in data(package = p)$results[, "Item"]) {
  e <- new.env()
  suppressWarnings(try(data(list = sub(" .*", "", item), package = p, envir = e), silent = TRUE))
  for (name in ls(e)) if (is.ts(get(name, e))) {
    x <- get(name, e)
    for (k in seq_len(NCOL(x))) {
      full <- paste(c(p, name, colnames(x)[k]), collapse = ".")
      if (!grepl(leave, full)) series[[full]] <- if (is.matrix(x)) x[, k] else x
    }
  }
}
rows <- list(train = list(), test = list())
for (name in names(series)) {
  x <- na.contiguous(series[[name]]); f <- as.character(frequency(x))
  if (!(f %in% names(ahead)) || length(x) < 30) next
  size <- min(long[[f]], length(x)); windows <- max(1, min(4, length(x) %/% size)); h <- ahead[[f]]
  from <- tsp(x)[1]; year <- floor(from + 1e-6); n <- frequency(x)
  x <- ts(as.numeric(x), start = c(if (year < 1000) year + 1900 else year, 1 + round((from - year) * n)), frequency = n)
  for (w in seq_len(windows)) {
    to <- length(x) - (windows - w) * size; at <- (to - size + 1):to
    y <- as.numeric(x)[at]
    if (all(diff(head(y, size - h), as.integer(f)) == 0)) next
    month <- 1 + (cycle(x)[at] - 1) * 12 / as.integer(f)
    d <- data.frame(id = paste0(gsub("[^A-Za-z0-9]", "_", name), "_", w), period = period[[f]],
                    date = sprintf("%d-%02d-01", as.integer(floor(time(x)[at] + 1e-6)), as.integer(month)), y = y)
    rows$train[[length(rows$train) + 1]] <- head(d, size - h); rows$test[[length(rows$test) + 1]] <- tail(d, h)
  }
}
dir.create(out, FALSE)
for (part in names(rows)) write.csv(do.call(rbind, rows[[part]]), file.path(out, paste0(part, ".csv")), row.names = FALSE, quote = FALSE)
cat(length(rows$train), "cases\n")
