# Rscript stan.R MODEL.stan CACHE [DATA.R SEED CHAINS WARMUP DRAWS OUT.csv NAME ...]: Stan's NUTS on one model. The compiled
# model stays in CACHE, since compiling takes a minute; without data it is compiled and no more. Writes the draws of the
# quantities named (chain after chain) and prints the CPU seconds of warm-up and sampling over all chains, then the number
# of divergent transitions.
suppressMessages(library(rstan))
args <- commandArgs(trailingOnly = TRUE)
dir.create(args[2], showWarnings = FALSE, recursive = TRUE)
code <- paste(readLines(args[1]), collapse = "\n")
kept <- file.path(args[2], sub("stan$", "rds", basename(args[1])))
model <- if (file.exists(kept)) readRDS(kept) else NULL
if (is.null(model) || !identical(as.character(model@model_code), code)) {
  before <- proc.time()
  model <- stan_model(model_code = code, model_name = sub("[.]stan$", "", basename(args[1])),
                      boost_lib = if (nzchar(system.file("include", package = "BH"))) NULL else "/usr/include")
  message(sprintf("compiled in %.0f CPU s", sum((proc.time() - before)[c(1, 2, 4, 5)])))
  saveRDS(model, kept)
}
if (length(args) > 2) {
  n <- as.integer(args[4:7]) # seed, chains, warm-up, draws
  fit <- sampling(model, data = read_rdump(args[3]), seed = n[1], chains = n[2], warmup = n[3], iter = n[3] + n[4],
                  cores = 1, refresh = 0, pars = args[-(1:8)])
  write.csv(apply(extract(fit, permuted = FALSE), 3, c), args[8], row.names = FALSE)
  cat(colSums(get_elapsed_time(fit)), get_num_divergent(fit), "\n")
}
