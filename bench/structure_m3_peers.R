# Scores of R's forecasters on the series of structure_m3.py: Rscript structure_m3_peers.R OUT.csv [--data=DIR] [PERIOD...]
# Needs the Debian package r-cran-forecast. MASE, sMAPE, share inside the 95% interval and interval score as there.
suppressMessages(library(forecast))
args <- commandArgs(trailingOnly = TRUE)
here <- dirname(normalizePath(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))))
data <- grep("^--data=", args, value = TRUE); args <- setdiff(args, data)
root <- if (length(data)) sub("--data=", "", data) else file.path(here, "..", "..", "shared", "data", "m3")
train <- read.csv(file.path(root, "train.csv")); test <- read.csv(file.path(root, "test.csv"))
methods <- list(ETS = function(y, h) forecast(ets(y), h = h, level = 95),
                auto.arima = function(y, h) forecast(auto.arima(y), h = h, level = 95),
                thetaf = function(y, h) thetaf(y, h = h, level = 95))
if (length(args) > 1) train <- train[train$period %in% args[-1], ]
lag <- c(MONTHLY = 12, QUARTERLY = 4, YEARLY = 1)
cat("id,period,method,mase,smape,coverage,interval\n", file = args[1])
for (id in unique(train$id)) {
  period <- train$period[train$id == id][1]; m <- lag[[period]]
  y <- ts(train$y[train$id == id], frequency = m); z <- test$y[test$id == id]
  scale <- mean(abs(diff(as.numeric(y), m)))
  for (name in names(methods)) {
    f <- methods[[name]](y, length(z))
    p <- as.numeric(f$mean); lo <- as.numeric(f$lower); hi <- as.numeric(f$upper)
    score <- mean(hi - lo + 40 * pmax(lo - z, 0) + 40 * pmax(z - hi, 0)) / scale
    cat(sprintf("%s,%s,%s,%.6f,%.6f,%.6f,%.6f\n", id, period, name, mean(abs(p - z)) / scale,
                mean(200 * abs(p - z) / ifelse(p + z == 0, 1, p + z)), mean(z >= lo & z <= hi), score), file = args[1], append = TRUE)
  }
}
