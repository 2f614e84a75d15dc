#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jupyter's own tests of kernels (jupyter_kernel_test; argument: the tool), with samples for every feature that they know:
a test that is skipped fails, and so does a feature of a later version without a sample here."""
import os, subprocess, sys, tempfile, unittest

import jupyter_kernel_test

jupyter_kernel_test.TIMEOUT = LIMIT = 60
TOOL = os.path.abspath(sys.argv[1])
os.environ.update(GPMEM_PYTHON=sys.executable, GPMEM_LIBRARY=os.path.join(os.path.dirname(TOOL), "libgpmem.so"),
                  PYTHONPATH=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"), PYTHONDONTWRITEBYTECODE="1")


class GpmemKernel(jupyter_kernel_test.KernelTests):
    kernel_name = "gpmem"
    language_name = "venturescript"
    file_extension = ".vnts"
    code_hello_world = 'print("hello, world")'
    code_stderr = "observe flip(1) = false;"  # an observation that cannot hold is warned of
    completion_samples = [{"text": "sample make_squared", "matches": ["make_squaredexp"]}, {"text": "assu", "matches": ["assume"]}]
    complete_code_samples = ["sample 1;", "assume f = proc(x) {\n  x + 1\n};", "// nothing", "?normal", "normal ?", ":clear\nsample 1;"]
    incomplete_code_samples = ["sample (1 +", "assume f = proc(x) {", "sample [1, 2", ":clear\nsample (1 +"]
    invalid_code_samples = ["sample 1));", "sample 1 2;", ":nothing"]
    code_page_something = "?normal"
    code_generate_error = "sample nobody;"
    code_execute_result = [{"code": "sample 6 * 7;", "result": "42"}, {"code": "sample [1, true];", "result": "[1, true]"},
                           {"code": 'sample "é€";', "result": '"é€"'}]
    code_display_data = [{"code": 'd = run(accumulate_dataset(20, collect(normal(0, 1)))); plot("h0", d);', "mime": "image/svg+xml"},
                         {"code": "printf(d);", "mime": "text/html"}]
    code_history_pattern = "sample 6*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "normal"
    code_clear_output = ":clear"

    def execute_helper(self, *args, **options):
        """Theirs gives the next message a tenth of a second, which a busy machine may need for other things."""
        channel, plain = self.kc.iopub_channel, self.kc.iopub_channel.get_msg
        channel.get_msg = lambda timeout: plain(timeout=LIMIT)
        try:
            return super().execute_helper(*args, **options)
        finally:
            del channel.get_msg


def without_sample():
    """Features that the tests know and that have no sample above."""
    base, ours = vars(jupyter_kernel_test.KernelTests), vars(GpmemKernel)
    return [name for name, value in base.items() if isinstance(value, (str, list, tuple)) and not name.startswith("_") and not ours.get(name)]


with tempfile.TemporaryDirectory() as folder:
    os.environ["JUPYTER_DATA_DIR"] = os.environ["JUPYTER_RUNTIME_DIR"] = os.path.join(folder, "jupyter")
    subprocess.run([TOOL, "kernel", "--install", "--user"], check=True, capture_output=True)
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(GpmemKernel))
missing = without_sample()
if missing or result.skipped or not result.testsRun:
    print("without a sample: %s; skipped: %s" % (missing, [str(t) for t, _ in result.skipped]))
sys.exit(bool(missing or result.skipped or not result.testsRun or not result.wasSuccessful()))
