# SPDX-License-Identifier: Apache-2.0
"""The R package on the library of a build: a folder with the library, and R started so that it finds it."""
import os, re, shutil, subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Place:
    def __init__(self, tool, folder):
        build = os.path.dirname(os.path.abspath(tool))
        self.folder, self.library = folder, os.path.join(folder, "R")
        prefix = os.path.join(folder, "prefix")
        lib = os.path.join(prefix, "lib")
        os.makedirs(os.path.join(lib, "pkgconfig"))
        os.makedirs(self.library)
        shutil.copytree(os.path.join(ROOT, "include"), os.path.join(prefix, "include"))
        for name in os.listdir(build):
            if name.startswith("libgpmem.so"):
                shutil.copy(os.path.join(build, name), os.path.join(lib, name), follow_symlinks=False)
        pc = open(os.path.join(build, "gpmem.pc")).read()
        with open(os.path.join(lib, "pkgconfig", "gpmem.pc"), "w") as f:
            f.write(re.sub(r"(?m)^libdir=.*", "libdir=" + lib, re.sub(r"(?m)^prefix=.*", "prefix=" + prefix, pc)))
        self.env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(lib, "pkgconfig"), LD_LIBRARY_PATH=lib, R_LIBS=self.library,
                        _R_CHECK_CRAN_INCOMING_="false", _R_CHECK_FUTURE_FILE_TIMESTAMPS_="false", LC_ALL="C.UTF-8")

    def run(self, *command, **variables):
        """Status and output; variables of the environment are set, or not there where they are None."""
        env = {k: v for k, v in dict(self.env, **variables).items() if v is not None}
        p = subprocess.run(command, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return p.returncode, p.stdout

    def install(self):
        source = os.path.join(self.folder, "source")
        shutil.copytree(os.path.join(ROOT, "r"), source)
        return self.run("R", "CMD", "INSTALL", "--library=" + self.library, source)
