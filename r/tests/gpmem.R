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
near(predict(f, cbind(z = 9, X[5:1, 3:1])), predict(f, X[5:1, ]), 1e-12) # by name, whatever else is there
fails(gp(letters, 1:26), "x must hold numbers")
fails(gp(iris[1:9, 4:5], 1:9), "Species")
fails(gp(1:3, letters[1:3]), "y must hold numbers")
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
fails(discover(factor(1:10)), "numbers")
fails(discover(data.frame(t = 1:9, y = letters[1:9])), "numbers")
fails(discover(c(1, 2, 3), time = c(1, NA, 3)), "missing")

## regression of tables
set.seed(5)
plants <- data.frame(dose = runif(40, 0, 10), site = factor(sample(c("field", "house"), 40, TRUE)), day = as.Date("2020-01-01") + 17 * (0:39))
plants$yield <- with(plants, 8 * dose / (2 + dose) + 2 * (site == "house") + 0.2 * cos(1:40 * 7))
new <- data.frame(site = c("house", "field", "house"), dose = c(3, NA, 20), day = as.Date("2020-06-01"), row.names = c("u", "v", "w"))
g <- gpm_regress(yield ~ dose + site, plants, threads = 2)
q <- predict(g, new)
near(q["u", "mean"], 6.8, 0.5)
stopifnot(is.na(q["v", "mean"]), q["w", "outside"] == "dose", q["u", "lower"] < q["u", "median"], q["u", "new_upper"] > q["u", "upper"])
stopifnot(as.data.frame(g)$input[1] == "dose", max(abs(fitted(g) - plants$yield)) < 1, g$result$outcome == "yield")
near(predict(gpm_regress(plants, y = "yield", inputs = c("dose", "site"), threads = 1), new)[c("u", "w"), "mean"], q[c("u", "w"), "mean"], 1e-9)
near(exp(predict(gpm_regress(log(yield) ~ log(dose) + site, plants, threads = 1), new[1, ])$mean), 6.8, 1)
stopifnot("day" %in% as.data.frame(gpm_regress(plants, threads = 1))$input)
kept <- data.frame(a = seq(-3, 3, length.out = 60), kept = factor(ifelse(seq(-3, 3, length.out = 60) + 2 * sin(17 * 1:60) > 0, "stays", "leaves")))
k <- gpm_regress(kept ~ a, kept, threads = 1)
stopifnot(k$result$family == "bernoulli", diff(predict(k, data.frame(a = c(-2, 2)))$mean) > 0.4)
stopifnot(gpm_regress(dist ~ speed, cars, threads = 1, family = "negative_binomial")$result$family == "negative_binomial")
turn <- data.frame(a = 10 * ((0.618034 * 0:13) %% 1))
turn$y <- sin(11 * turn$a) + cos(5 * turn$a)
fails(for (seed in 1:6) # some of them may agree by chance
  gpm_regress(turn, kernel = "PER(sf=1, p=1, l=1) + PER(sf=1, p=1, l=1)", noise = "normal", threads = 1, seed = seed), "not settled.*log evidence.*rough=TRUE")
wild <- plants
wild$yield[9] <- 60
stopifnot(gpm_regress(yield ~ dose + site, wild, threads = 1)$result$rows_set_aside == 1)
stopifnot(gpm_regress(yield ~ dose + site, wild, threads = 1, noise = "normal")$result$rows_set_aside == 0)
file <- tempfile(fileext = ".csv")
write.csv(plants[c("dose", "site", "yield")], file, row.names = FALSE)
near(predict(gpm_regress(file, threads = 1), new[1, ])$mean, q["u", "mean"], 1e-9)
saveRDS(g, path)
near(predict(readRDS(path), new)$mean[1], q$mean[1], 1e-9)
invisible(capture.output(print(g), summary(g)))
stopifnot(grepl("make_gp", regression_report(g, "program")), grepl("<svg", regression_report(g, "html")))
fails(gpm_regress(yield ~ dosis, plants), "dosis")
fails(gpm_regress(plants, y = "crop"), "crop")
fails(predict(g, transform(new, site = "roof")), "no level of 'site'")
fails(gpm_regress(yield ~ dose, plants, level = 2), "between 0 and 1")
fails(gpm_regress("/nowhere.csv"), "No such file")

## other columns, linear and smooth, their values to come; nothing stays of earlier ones
weeks <- data.frame(day = as.Date("2024-01-01") + 7 * (0:49), sales = 100 + 20 * (1:50 %% 3 == 0) + cos(1:50 * 7), promo = as.numeric(1:50 %% 3 == 0))
w <- discover(weeks, time = "day", value = "sales", with = "promo", threads = 2)
ahead <- data.frame(day = max(weeks$day) + 7 * 1:2, promo = c(1, 0))
near(predict(w, newdata = ahead)$median, c(120, 100), 2)
ahead$promo <- 1 - ahead$promo
q <- predict(w, newdata = ahead, quantiles = c(0.1, 0.9), paths = 2)
near(q$median, c(100, 120), 2)
stopifnot(all(q$q0.1 < q$q0.9), identical(names(q)[4:8], c("hi", "q0.1", "q0.9", "path1", "path2")), q[[1]][1] == "2024-12-16")
fails(predict(w, h = 2), "what will promo be")
fails(predict(w, newdata = ahead["day"]), "promo")
fails(discover(weeks, with = "price"), "price")
fails(discover(weeks$sales, X = weeks[1:3, "promo", drop = FALSE]), "3 rows")
stopifnot(grepl("promo has a linear effect", discovery_report(w)), all(as.data.frame(w, of = "motifs")$probability <= 1),
          identical(names(as.data.frame(w, of = "parts")), c("x", "part", "mean", "sd")))

## changes by name; a data frame without rows where there are none
shift <- as.data.frame(discover(data.frame(t = 1:60, y = (1:60 * 7) %% 5 + 40 * (1:60 > 30)), threads = 2), of = "changes")
stopifnot(nrow(shift) == 1, shift$kind == "level", shift$at == 31, shift$x == 31, abs(shift$size - 40) < 2, nrow(as.data.frame(w, of = "changes")) == 0)

## fractions of seconds; several series
fine <- as.POSIXct("2024-01-01", tz = "UTC") + 0.25 * (0:39)
stopifnot(grepl("T00:00:10.25", predict(discover(sin(0:39), time = fine, threads = 2), h = 2)[[1]][2], fixed = TRUE))
long <- data.frame(t = rep(1:30, 2), shop = rep(c("no, rth", "so\"uth"), each = 30), y = c(2 * 1:30 + cos(1:30 * 5), cos(1:30 * 5)))
both <- discover_panel(long, by = "shop", threads = 2)
stopifnot(identical(names(both), c("no, rth", "so\"uth")), structure_probability(both[[1]], "trend")[1] > 0.9)
near(predict(both[[1]], h = 1)$median, 62, 2)
stopifnot(identical(names(discover_panel(cbind(a = cos(1:30 * 5), b = 1:30 + cos(1:30)), threads = 2)), c("a", "b")))
invisible(capture.output(print(both)))
fails(discover_panel(AirPassengers), "single series")
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
set.seed(1)
o <- optimize_bayes(function(x) (x - 0.3)^2 + rnorm(1, 0, 0.3), list(x = c(-1, 2)), budget = 20, noisy = TRUE)
stopifnot(o$value == o$mean, o$sd > 0, o$value > min(o$history$value), !is.null(o$par$x)) # no lucky draw
o <- optimize_bayes(function(x, y) list(weight = x + y, cost = (x - 1)^2 + y), list(x = c(-5, 5), y = c(0, 5)), budget = 25,
                    objectives = "cost", constraints = "weight>=3", start = list(x = 0, y = 4))
stopifnot(o$feasible, o$outputs["weight"] >= 3, abs(o$value - 1.75) < 0.05, o$history$weight[1] == 4)
o <- optimize_bayes(function(x) c((x - 2)^2, -x^2), list(x = c(-5, 5)), budget = 15, objectives = c("a", "b:max"))
stopifnot(nrow(o$front) > 5, all(o$front$x > -0.3 & o$front$x < 2.3), identical(names(o$front), c("x", "a", "b")))
invisible(capture.output(print(o)))
invisible(plot(o))
o <- optimize_bayes(function(kind, g, a, b) (if (kind == "rbf") (g - 0.5)^2 else 1) + (a - 0.3)^2, list(kind = c("lin", "rbf"),
                    g = gpm_variable(0.01, 1, log = TRUE, when = "kind=rbf"), gpm_shares("a", "b")), budget = 25)
stopifnot(o$par$kind == "rbf", o$value < 0.01, abs(o$par$a + o$par$b - 1) < 1e-9)
o <- optimize_bayes(function(size, first, last) (size == "M") + first, list(size = gpm_category("S", "M", "L", ordered = TRUE),
                    gpm_order("first", "last")), budget = 6)
stopifnot(o$value == 1, o$par$first == 1, o$par$size != "M")
## a space with few points ends before its budget; levels of many words, in order or as a guess
o <- optimize_bayes(function(k, n) nchar(k) + n, list(k = c("one word", "a when b=c, or \"d\"", "x"), n = c(1L, 2L)), budget = 50,
                    start = list(k = "a when b=c, or \"d\"", n = 2))
stopifnot(nrow(o$history) == 6, o$par$k == "x", o$par$n == 1, o$history$k[1] == "a when b=c, or \"d\"", o$history$n[1] == 2)
o <- optimize_bayes(function(size) nchar(size), list(size = gpm_category("very small", "small", ordered = TRUE)), budget = 9)
stopifnot(nrow(o$history) == 2, o$par$size == "small")
fails(optimize_bayes(function(x) x, list(x = c(0, 1)), constraints = "x * 2 >= 5", budget = 3), "keeps the constraints")
fails(optimize_bayes(function(x) c(a = x), list(x = c(0, 1)), objectives = c("a", "b"), budget = 2), "called .b.")
fails(optimize_bayes(function(x) x, list(x = c(0, 1)), start = list(z = 1)), "z")
fails(optimize_bayes(function(x) "a", list(x = c(0, 1)), budget = 2), "no number")
fails(optimize_bayes(function(x) stop("never"), list(x = c(0, 1)), budget = 3), "never")

## counts and seeds: what is none is refused, nothing wraps
for (n in list(-1, NA, 1.5, 2^62, 1e300, Inf, "3", c(1, 2))) {
  fails(discover(1:30, horizon = n), "horizon")
  fails(discover(1:30, threads = n), "threads")
  fails(discover(1:30, seed = if (identical(n, 2^62)) -2 else n), "seed must be")
  fails(predict(d, h = n), "horizon")
  fails(gp(x, y, starts = n), "starts")
  fails(gpm_run("sample 1;", chains = n), "chains must be")
  fails(gpm_run("sample 1;", seed = if (identical(n, 2^62)) NA_real_ else n), "seed must be")
  fails(optimize_bayes(function(x) x, list(x = c(0, 1)), budget = 2, initial = n), "initial")
  fails(optimize_bayes(function(x) x, list(x = c(0, 1)), budget = n), "budget must be")
}

## messages name arguments of R, not options of the tool
f <- tempfile(fileext = ".csv")
writeLines(c("date,a,b", sprintf("2001-%02d-01,%d,%d", 1:12, 1:12, (1:12)^2 %% 7)), f)
fails(discover(f), "choose the values with value:")
writeLines(c("t,y", sprintf("%d,%s", 1:20, ifelse(1:20 == 7, "rubbish", "3"))), f)
fails(discover(f), "skip such rows with skip_bad=TRUE")

## programs: a posterior in closed form, chains, data, errors
program <- "assume mu = normal(0, 10); observe normal(fill(size(y), mu), 1) = y; infer sample(warmup=300, draws=1000);"
r <- gpm_run(program, data = list(y = c(4.8, 5.3, 5.1)), chains = 2, quiet = TRUE)
stopifnot(identical(dim(r$draws), c(1000L, 2L, 1L)))
near(mean(unclass(r$draws)), 15.2 / 3.01, 0.06)
near(sd(unclass(r$draws)), sqrt(1 / 3.01), 0.05)
stopifnot(!identical(r$draws[, 1, 1], r$draws[, 2, 1]))
invisible(summary(r))
stopifnot(gpm_run("sample 6 * 7;")$output == "42\n", is.null(gpm_run("sample 1;")$draws))

## what a draw lacks is NA; draws of particles have weights: both count in summaries
length <- "assume n = uniform_discrete(1, 4); assume x = mapv(i -> normal(0, 1), arange(n)); observe normal(sum(x), 1) = 2;"
p <- sapply(1:3, function(n) dnorm(2, 0, sqrt(n + 1)))
p <- p / sum(p)
of <- function(r, name) { s <- summary(r); as.list(s[s$variable == name, ]) }
for (seed in 1:3) {
  r <- gpm_run(paste(length, "infer sample(warmup=200, draws=2000);"), chains = 2, seed = seed, quiet = TRUE)
  x3 <- unclass(r$draws)[, , "x[3]"]
  stopifnot(identical(dim(r$draws)[1:2], c(2000L, 2L)), all(is.na(x3) == (unclass(r$draws)[, , "n"] < 3)))
  s <- of(r, "x[3]")
  near(s$mean, 0.5, 5 * s$mcse_mean)
  near(s$absent, 1 - p[3], 0.06)
  s <- of(r, "n")
  near(s$mean, sum(1:3 * p), 5 * s$mcse_mean)
  r <- gpm_run("infer resample(4000); assume m = normal(0, 1); observe normal(m, 0.5) = 2; infer collect(m);", chains = 2, seed = seed, quiet = TRUE)
  stopifnot("log_weight__" %in% dimnames(r$diagnostics)[[3]])
  s <- of(r, "m")
  near(s$mean, 1.6, 5 * s$mcse_mean)
  near(s$sd, sqrt(0.2), 0.05)
  stopifnot(s$ess_bulk < 4000)
}

## a forked child has a copy of every object, and the function that is optimised may use all of them: answers or errors, no crash
line <- gp(1:9, sin(1:9))
yields <- gpm_regress(yield ~ dose + site, plants, threads = 2)
found <- discover(1:40 + sin(1:40), threads = 2)
use <- function(i) list(predict(line, 2.5), predict(yields, new), structure_probability(found, "trend"), predict(found, h = 2),
                        tryCatch(predict(yields, transform(new, site = "roof")), error = conditionMessage), gpm_run("sample 6 * 7;")$output)
if (.Platform$OS.type == "unix" && requireNamespace("parallel", quietly = TRUE))
  for (child in parallel::mclapply(1:3, use, mc.cores = 2)) stopifnot(identical(child, use(0)))
inside <- optimize_bayes(function(x) {
  inner <- optimize_bayes(function(x) (x - 0.3)^2, list(x = c(0, 1)), budget = 3)
  stopifnot(identical(use(0), use(0)), inner$value >= 0)
  (x - 0.5)^2
}, list(x = c(0, 1)), budget = 2)
fails(gpm_run("assume x = nrmal(0, 1);"), "did you mean `normal`")
fails(gpm_run('plot_to_file("x", "h0", list(1, 2, 3));'), "not allowed|not bound|E0")
cat("all is well\n")
