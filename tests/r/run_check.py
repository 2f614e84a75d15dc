#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# label: slow
"""R CMD check --as-cran of the R package: no errors, no warnings; then gp() beside kernlab (argument: the tool). The manual as PDF is
left out (it needs LaTeX)."""
import glob, os, sys, tempfile

import package

PEER = """
library(gpmem)
x <- seq(0, 10, length.out = 60); y <- sin(x) + 0.2 * cos(5 * x)
at <- seq(-1, 11, length.out = 200)
m <- gp(x, y - mean(y), "SE(sf=1, l=0.7)", noise = 0.3, fit = FALSE)
k <- kernlab::gausspr(matrix(x), y - mean(y), scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = 1 / (2 * 0.7^2)), var = 0.3^2)
gap <- max(abs(predict(m, at) - c(kernlab::predict(k, matrix(at)))))
cat("largest difference of means to kernlab:", gap, "\\n")
stopifnot(gap < 1e-8)
f <- gp(x, y)
cat("log likelihood, the given parameters and the fitted ones:", as.numeric(logLik(m)), as.numeric(logLik(f)), "\\n")
stopifnot(logLik(f) > logLik(m))
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = package.Place(sys.argv[1], folder)
        rc, said = place.install()
        if rc:
            return said
        rc, said = place.run("R", "CMD", "build", "source")
        made = glob.glob(os.path.join(folder, "gpmem_*.tar.gz"))
        if rc or len(made) != 1:
            return said
        rc, said = place.run("R", "CMD", "check", "--as-cran", "--no-manual", made[0])
        print(said)
        if rc or "WARNING" in said or "ERROR" in said:
            return said
        rc, said = place.run("Rscript", "-e", PEER)
        print(said)
        return None if rc == 0 else "beside kernlab"


sys.exit(main())
