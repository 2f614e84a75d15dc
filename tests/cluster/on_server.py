#!/usr/bin/python3
"""gpmem with stores on a server: NAME.db among the arguments becomes GPMEM_TEST_SERVER#NAME. For tests that are to run on
both kinds of store: give them this in place of the tool."""
import os, re, sys

server, tool = os.environ["GPMEM_TEST_SERVER"], os.environ["GPMEM_TEST_TOOL"]
os.execv(tool, [tool] + [re.sub(r"^([\w.-]+)\.db$", lambda m: "%s#%s-%s" % (server, os.environ.get("GPMEM_TEST_NAME", "t"), m.group(1)), a) for a in sys.argv[1:]])
