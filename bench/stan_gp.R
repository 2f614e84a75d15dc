# Rscript stan_gp.R FOLDER WARMUP DRAWS: Stan's NUTS on Gaussian process regression with hyper-priors. Reads FOLDER/data.csv
# (x, y), writes FOLDER/stan.csv (draws) and prints the seconds of warm-up and of sampling. The compiled model stays in
# bench/.stan, since compiling takes a minute.
suppressMessages(library(rstan))
args <- commandArgs(trailingOnly = TRUE)
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(FALSE), value = TRUE)))
cache <- file.path(here, ".stan")
dir.create(cache, showWarnings = FALSE)
code <- "
data { int<lower=1> N; real x[N]; vector[N] y; }
parameters { real<lower=0> sf; real<lower=0> l; real<lower=0> s; }
model {
  matrix[N, N] K = cov_exp_quad(x, sf, l) + diag_matrix(rep_vector(square(s), N));
  sf ~ lognormal(0, 1);
  l ~ lognormal(0, 1);
  s ~ lognormal(-1, 1);
  y ~ multi_normal_cholesky(rep_vector(0, N), cholesky_decompose(K));
}"
file <- file.path(cache, "gp.rds")
model <- if (file.exists(file)) readRDS(file) else {
  m <- stan_model(model_code = code, boost_lib = if (nzchar(system.file("include", package = "BH"))) NULL else "/usr/include")
  saveRDS(m, file)
  m
}
d <- read.csv(file.path(args[1], "data.csv"))
warm <- as.integer(args[2])
fit <- sampling(model, data = list(N = nrow(d), x = d$x, y = d$y), chains = 1, warmup = warm,
                iter = warm + as.integer(args[3]), seed = 1, refresh = 0)
write.csv(as.data.frame(extract(fit, c("sf", "l", "s"))), file.path(args[1], "stan.csv"), row.names = FALSE)
cat(get_elapsed_time(fit), "\n")
