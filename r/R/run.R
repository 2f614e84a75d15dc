# SPDX-License-Identifier: Apache-2.0
# Programs of the language.

gpm_version <- function() .Call(C_library_version)

gpm_run <- function(program, data = NULL, chains = 1, seed = 1, allow_run = FALSE, allow_write = FALSE, max_seconds = 0,
                    quiet = FALSE) {
  name <- "<program>"
  check_count(chains, "chains", 1024)
  if (length(program) == 1 && !grepl("[\n;]", program) && file.exists(program)) {
    name <- program
    program <- readLines(program, warn = FALSE, encoding = "UTF-8")
  }
  program <- paste(program, collapse = "\n")
  json <- if (!is.null(data)) as.character(jsonlite::toJSON(data, auto_unbox = TRUE, digits = NA, na = "string"))
  one <- function(chain) .Call(C_program_run, program, name, json,
                               list(seed = seed, chain = chain, allow_run = allow_run, allow_write = allow_write,
                                    max_seconds = max_seconds, quiet = quiet || chain > 0))
  runs <- lapply(seq_len(chains) - 1L, one)
  part <- function(sampler) bind_chains(lapply(runs, function(r)
    if (!is.null(r$draws) && any(r$sampler == sampler)) r$draws[, r$sampler == sampler, drop = FALSE]))
  structure(list(output = runs[[1]]$output, draws = part(FALSE), diagnostics = part(TRUE)), class = "gpmem_run")
}

# What R itself counts with; the library checks the rest.
check_count <- function(n, name, most) {
  if (!is.numeric(n) || length(n) != 1 || is.na(n) || n < 1 || n > most || n != floor(n))
    stop(name, " must be one whole number from 1 to ", format(most, scientific = FALSE), call. = FALSE)
}

# draws_array of the package posterior where it is installed, else a plain array of the same shape. Chains are merged by
# the names of their variables; what a draw lacks is NA.
bind_chains <- function(draws) {
  if (any(vapply(draws, is.null, NA))) return(NULL)
  rows <- min(vapply(draws, nrow, 1L))
  names <- lapply(draws, function(d) make.unique(colnames(d)))
  variables <- unique(unlist(names))
  of <- sub("\\[[0-9,]*\\]$", "", variables)
  variables <- variables[order(match(of, unique(of)))]
  out <- array(NA_real_, c(rows, length(draws), length(variables)),
               list(iteration = as.character(seq_len(rows)), chain = as.character(seq_along(draws)), variable = variables))
  for (i in seq_along(draws)) out[, i, names[[i]]] <- draws[[i]][seq_len(rows), ]
  if (requireNamespace("posterior", quietly = TRUE)) posterior::as_draws_array(out) else out
}

print.gpmem_run <- function(x, ...) {
  if (nzchar(x$output)) cat(x$output)
  if (!is.null(x$draws)) cat("draws:", paste(dim(x$draws)[1:2], collapse = " x "), "of", paste(dimnames(x$draws)[[3]], collapse = ", "), "\n")
  invisible(x)
}

# The library knows of draws that have weights, and of variables that some draws lack; posterior does not.
summary.gpmem_run <- function(object, ...) {
  if (is.null(object$draws)) stop("the program collected nothing: infer sample(...) or collect(...) does")
  weights <- "log_weight__" %in% dimnames(object$diagnostics)[[3]]
  own <- !...length() && (weights || anyNA(object$draws)) || !requireNamespace("posterior", quietly = TRUE)
  if (!own && weights) {
    log_weights <- as.vector(object$diagnostics[, , "log_weight__"])
    log_weights[is.na(log_weights)] <- 0
    return(posterior::summarise_draws(posterior::resample_draws(posterior::weight_draws(
      posterior::merge_chains(object$draws), log_weights, log = TRUE)), ...))
  }
  if (!own) return(posterior::summarise_draws(object$draws, ...))
  all <- unclass(object$draws)
  names <- dimnames(all)[[3]]
  if (weights) all <- array(c(all, object$diagnostics[, , "log_weight__"]), dim(all) + c(0L, 0L, 1L))
  said <- jsonlite::fromJSON(.Call(C_draws_summary, all, c(names, if (weights) "log_weight__")))
  figures <- t(vapply(said, function(v) vapply(v, function(x) if (is.null(x)) NA_real_ else as.numeric(x), 1),
                      numeric(length(said[[1]]))))
  data.frame(variable = names(said), figures, row.names = NULL, check.names = FALSE)
}
