# SPDX-License-Identifier: Apache-2.0
library(gpmem)
near <- function(a, b, tolerance) stopifnot(length(a) == length(b), all(abs(a - b) <= tolerance))
fails <- function(expression, text) {
  said <- tryCatch({ force(expression); "" }, error = conditionMessage)
  if (!grepl(text, said)) stop("expected '", text, "', got '", said, "'")
}

## Gaussian processes: the closed form
x <- seq(0, 5, length.out = 20)
y <- sin(2 * x) + 3
m <- gp(x, y, "SE(sf=1.5, l=0.8)", noise = 0.2, fit = FALSE)
k <- function(a, b) 1.5^2 * exp(-outer(a, b, "-")^2 / (2 * 0.8^2))
K <- k(x, x) + 0.04 * diag(20)
at <- c(0.33, 2.5, 6)
mean <- mean(y) + k(at, x) %*% solve(K, y - mean(y))
cov <- k(at, at) - k(at, x) %*% solve(K, k(x, at))
p <- predict(m, at, covariance = TRUE)
near(p$fit, c(mean), 1e-9)
near(p$cov, cov, 1e-9)
near(predict(m, at, se.fit = TRUE)$se.fit, sqrt(diag(cov)), 1e-7)
r <- y - mean(y)
near(as.numeric(logLik(m)), -0.5 * sum(r * solve(K, r)) - sum(log(diag(chol(K)))) - 10 * log(2 * pi), 1e-8)
s <- as.matrix(simulate(m, 4000, seed = 3, newdata = at))
near(rowMeans(s), c(mean), 0.06)
near(cov(t(s)), cov, 0.12)

## fitted, several columns, saved and read again
set.seed(1)
X <- data.frame(a = runif(60), b = runif(60), c = runif(60))
Y <- sin(5 * X$a) + X$b^2
f <- gp(X, Y, noise = 0)
stopifnot(max(abs(residuals(f))) < 1e-3, inherits(f, "gpmem_gp"), f$noise == 0)
path <- tempfile(fileext = ".rds")
saveRDS(f, path)
again <- readRDS(path)
near(predict(again, X[1:5, ] + 0.01), predict(f, X[1:5, ] + 0.01), 1e-8)
stopifnot(all(c("SE", "PER", "LIN") %in% names(gp_kernels())))
fails(gp(1:3, 1:4), "x has 3 points")
fails(gp(1:3, c(1, NA, 2)), "finite")
fails(gp(1:3, 1:3, "SQ(l=1)"), "SQ")
fails(predict(f, 1:3), "columns")
invisible(capture.output(print(f), print(summary(f))))
pdf(NULL)
invisible(plot(m))

## structure
d <- discover(ts(10 + sin(2 * pi * (1:72) / 12) + 0.05 * cos(1:72 * 7), start = c(2000, 1), frequency = 12), threads = 2)
stopifnot(abs(sum(d$structures$probability) - 1) < 0.2, structure_probability(d, "recurring_pattern")["probability"] > 0.9)
h <- predict(d, h = 12)
near(h$median, 10 + sin(2 * pi * (73:84) / 12), 0.3)
stopifnot(h[[1]][1] == "2006-01", all(h$lo < h$hi))
if (requireNamespace("forecast", quietly = TRUE)) {
  fc <- forecast::forecast(d, h = 6)
  stopifnot(inherits(fc, "forecast"), identical(dim(fc$lower), c(6L, 2L)), all(fc$lower[, 2] <= fc$lower[, 1]))
  near(tsp(fc$mean), c(2006, 2006 + 5 / 12, 12), 1e-9)
}
k <- discover(1:40 + sin(1:40), threads = 2, folder = tempfile())
saveRDS(k, path)
near(structure_probability(readRDS(path), "trend")[1], structure_probability(k, "trend")[1], 1e-9)
saveRDS(d, path)
fails(structure_probability(readRDS(path), "trend"), "folder=")
invisible(plot(d, h = 6))
fails(discover(c(1, 2, Inf)), "finite")
## an interrupt ends a search that would take minutes (Windows has no such signal)
if (.Platform$OS.type == "unix") {
  t <- cumsum(1 + 0.4 * sin(7 * (1:2500)))
  system(sprintf("(sleep 0.7; kill -INT %d) &", Sys.getpid()))
  fails(discover(sin(t / 30) + 0.2 * cos(5 * (1:2500)^2), time = t), "interrupted")
}
fails(discover("no such file.csv"), "no such file")
fails(structure_probability(d, "PER &"), ".")

## optimisation
o <- optimize_bayes(function(x, kind) if (kind == "bad") stop("no") else (x - 1)^2, list(x = c(-5, 5), kind = c("good", "bad")),
                    budget = 18)
stopifnot(o$value < 0.05, o$par$kind == "good", abs(o$par$x - 1) < 0.25, nrow(o$history) == 18)
invisible(capture.output(print(o)))
invisible(plot(o))
fails(optimize_bayes(function(x) x, list(c(0, 1))), "named")
fails(optimize_bayes(function(x) stop("never"), list(x = c(0, 1)), budget = 3), "never")

## programs: a posterior in closed form, chains, data, errors
program <- "assume mu = normal(0, 10); observe normal(fill(size(y), mu), 1) = y; infer sample(warmup=300, draws=1000);"
r <- gpm_run(program, data = list(y = c(4.8, 5.3, 5.1)), chains = 2, quiet = TRUE)
stopifnot(identical(dim(r$draws), c(1000L, 2L, 1L)))
near(mean(unclass(r$draws)), 15.2 / 3.01, 0.06)
near(sd(unclass(r$draws)), sqrt(1 / 3.01), 0.05)
stopifnot(!identical(r$draws[, 1, 1], r$draws[, 2, 1]))
invisible(summary(r))
stopifnot(gpm_run("sample 6 * 7;")$output == "42\n", is.null(gpm_run("sample 1;")$draws))
fails(gpm_run("assume x = nrmal(0, 1);"), "did you mean `normal`")
fails(gpm_run('plot_to_file("x", "h0", list(1, 2, 3));'), "not allowed|not bound|E0")
cat("all is well\n")
