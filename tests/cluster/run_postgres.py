#!/usr/bin/python3
"""Stores on a PostgreSQL server: optimisers and memo tables shared by workers, some of them killed, while the server is
stopped and started; copies between SQLite and the server; programs and messages (arguments: the tool, [workers])."""
import os, random, signal, sqlite3, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
WORKERS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
WORK = tempfile.TemporaryDirectory(prefix="gpmem-postgres-")
BRANIN = """#!/usr/bin/python3
import math, os, sys
x, y = float(sys.argv[1]), float(sys.argv[2])
with open(os.environ["EVALUATED"], "a") as f: f.write("%r %r\\n" % (x, y))
print((y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6)**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)
"""


def at(name): return os.path.join(WORK.name, name)


def run(*args, status=0, **options):
    r = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=WORK.name, timeout=300, **options)
    assert r.returncode in (status if isinstance(status, tuple) else (status,)), (args, r.returncode, r.stdout[-500:], r.stderr[-1500:])
    return r.stdout + r.stderr


def rows(store): return [l.split("\t") for l in run("memo", "list", store).splitlines()[1:]]


def check_workers(pg, env):
    """Nothing is lost, nothing is evaluated twice but what the dead were at, and at most one point on purpose: where noise would
    explain the values better, the one that is best by then is repeated once (a row of its own, rep 1)."""
    store, budget = pg.url + "#shared", 12 * WORKERS
    command = ["--budget", str(budget), "--claim", "3", "-q"]
    variables = ["--var", "x=-5:10", "--var", "y=0:15"]
    run("optimize", *variables, "--budget", "2", "-q", "--store", store, "--", at("branin.py"), "{x}", "{y}", env=env)
    start = lambda: subprocess.Popen([TOOL, "optimize", "--join", store, *command], cwd=WORK.name, env=env,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    workers, killed, rng = [start() for _ in range(WORKERS)], 0, random.Random(1)
    time.sleep(1.5)
    for _ in range(max(1, WORKERS // 2)):
        k = rng.randrange(len(workers))
        if workers[k].poll() is None:
            workers[k].send_signal(signal.SIGKILL)
            killed += 1
        workers[k].communicate()
        workers[k] = start()
        time.sleep(0.3)
    pg.restart()  # as a crash: every connection is lost
    for p in workers:
        out, err = p.communicate(timeout=240)
        assert p.returncode == 0, (p.returncode, out, err)
    done = [r for r in rows(store) if r[3] not in ("claimed", "failed")]
    points = [tuple(r[1:3]) for r in done]
    evaluated = open(at("evaluated")).read().splitlines()
    repeated = int(pg.sql("SELECT count(*) FROM shared.point WHERE rep > 0"))
    assert len(set(points)) == len(points) - repeated and repeated <= 1, (len(points), len(set(points)), repeated)
    better = pg.sql("SELECT other.y FROM shared.point again JOIN shared.point first ON first.key = again.key AND first.rep = 0 "
                    "JOIN shared.point other ON other.finished < again.started AND other.y < first.y WHERE again.rep > 0")
    assert not better.strip(), better
    assert budget <= len(points) <= budget + WORKERS, (len(points), budget)
    again = len(evaluated) - len(set(evaluated))
    assert set("%r %r" % (float(a), float(b)) for a, b in points) <= set(evaluated) and again <= killed + WORKERS + repeated, (again, killed)
    seq = [int(v) for v in pg.sql("SELECT seq FROM shared.point WHERE seq > 0 ORDER BY seq").split()]
    assert seq == list(range(1, len(seq) + 1)), seq
    best = min(float(r[3]) for r in done)
    assert best < 1, best
    print("%d workers, %d killed, server restarted: %d points, %d evaluated again, best %.4f" % (WORKERS, killed, len(points), again, best))
    return store


def check_beginning(pg, store):
    """The server goes down while a worker that joins reads what the search is: it begins again."""
    holds = subprocess.Popen(["psql", "-X", "-q", pg.url, "-c", "BEGIN", "-c", "LOCK TABLE shared.state IN ACCESS EXCLUSIVE MODE", "-c",
                              "SELECT pg_sleep(120)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    while pg.sql("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'shared.state'::regclass").strip() == "0":
        time.sleep(0.1)
    worker = subprocess.Popen([TOOL, "optimize", "--join", store, "--allow-run", "--budget", "2", "-q"], cwd=WORK.name,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while pg.sql(waits).strip() == "0":
        time.sleep(0.1)
        assert worker.poll() is None, worker.communicate()
    pg.restart()
    out, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, (worker.returncode, out, err)
    holds.wait()


def check_copies(pg, store):
    file = at("copy.db")
    run("memo", "copy", store, file)
    run("memo", "copy", file, pg.url + "#back")
    assert run("memo", "export", file) == run("memo", "export", store) == run("memo", "export", pg.url + "#back")
    db = sqlite3.connect(file)
    want = db.execute("SELECT id, seq, rep, x, y, tag FROM point ORDER BY id").fetchall()
    got = pg.sql("SELECT id, seq, rep, x, y, tag FROM back.point ORDER BY id").splitlines()
    assert len(want) == len(got) and all([str(v) for v in w[:4]] == g.split("|")[:4] for w, g in zip(want, got))
    assert sorted(k for k, in db.execute("SELECT key FROM state")) == sorted(pg.sql("SELECT key FROM back.state").split())
    assert "holds rows already" in run("memo", "copy", file, store, status=1)
    out = run("ask", pg.url + "#back")  # the next row has the next number
    assert int(out.split()[0]) == max(w[0] for w in want) + 1, out


def check_programs(pg):
    """A memo table of a program, shared by two runs of it; nothing is evaluated twice."""
    program = at("memo.vnts")
    with open(program, "w") as f:
        f.write('assume f = command("%s {x}");\nassume (c, e) = gpmem(f, make_squaredexp(1, 1), store="%s#memo");\n'
                'sample c(1) + c(2);\nsample c(2) + c(3);\n' % (at("square.sh"), pg.url))
    first = run("run", "--allow-run", program)
    assert first.split() == ["5", "13"], first
    assert run("run", "--allow-run", program) == first
    assert sorted(open(at("squares")).read().split()) == ["1", "2", "3"]
    assert "allow" in run("run", program, status=1)
    assert "belongs to the function" in run("optimize", "--var", "x=0:1", "--budget", "1", "--store", pg.url + "#memo", "--", "true", "{x}", status=2)
    assert "s, 90% between" in (run("time", "--store", pg.url + "#times", "n=1,2,3", "--", "true", "{n}") and
                                run("time", "--store", pg.url + "#times", "--predict", "n=4"))


def check_together(pg):
    """Eight processes want the same 2,000 points at the same time: each is evaluated once."""
    r = subprocess.run([os.path.join(os.path.dirname(TOOL), "tests", "test_memo_kill"), "together"], env=dict(os.environ, GPMEM_TEST_SERVER=pg.url),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 0, r.stdout[-2000:]


def check_strangers(pg):
    """Another role's code in a store's schema never runs as the user of the store: functions nearer to what a statement says,
    triggers, rules, policies, defaults. `log` keeps the names of the roles that such code ran as."""
    as_role = lambda role: pg.url.replace("gpmem@", role + "@")
    ran = lambda: pg.sql("SELECT who FROM public.log").split()
    one = lambda url, status=0: run("optimize", "--var", "x=0:1", "--budget", "2", "-q", "--store", url, "--", "echo", "{x}", status=status)
    pg.sql("CREATE ROLE mallory LOGIN; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE lab; GRANT lab TO alice, bob;"
           "GRANT CREATE ON DATABASE postgres TO mallory, alice, lab; CREATE TABLE public.log(who text); GRANT ALL ON public.log TO PUBLIC")
    spy = ("CREATE FUNCTION %s.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.log VALUES(current_user); RETURN NEW; END';")
    # a store of theirs, with a trigger and a nearer pg_notify
    one(as_role("mallory") + "#theirs")
    pg.sql("SET ROLE mallory;" + spy % "theirs" + "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON theirs.point EXECUTE FUNCTION theirs.spy();"
           "CREATE FUNCTION theirs.pg_notify(name, text) RETURNS void LANGUAGE sql AS 'INSERT INTO public.log VALUES(current_user)';"
           "GRANT ALL ON SCHEMA theirs TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA theirs TO PUBLIC; GRANT ALL ON ALL SEQUENCES IN SCHEMA theirs TO PUBLIC")
    for url in (pg.url, as_role("alice")):
        for command in (["ask", url + "#theirs"], ["memo", "list", url + "#theirs"], ["memo", "import", url + "#theirs", at("none.csv")]):
            said = run(*command, status=(1, 2))
            assert "the role 'mallory'" in said or "the role 'public'" in said, said
    assert not ran(), ran()
    # a store of ours, where they may make functions and operators
    one(pg.url + "#ours")
    pg.sql("GRANT ALL ON SCHEMA ours TO mallory")
    pg.sql("SET ROLE mallory; CREATE FUNCTION ours.pg_notify(name, text) RETURNS void LANGUAGE sql AS 'INSERT INTO public.log VALUES(current_user)';"
           "CREATE FUNCTION ours.coalesced(bigint, integer) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.log VALUES(current_user);"
           " RETURN $1 OPERATOR(pg_catalog.=) $2; END'; CREATE OPERATOR ours.= (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = ours.coalesced)")
    run("optimize", "--join", pg.url + "#ours", "--budget", "4", "-q", "--allow-run")
    run("memo", "export", pg.url + "#ours")
    assert not ran() and len(rows(pg.url + "#ours")) == 4, ran()
    pg.sql("GRANT TRIGGER ON ours.point TO mallory")
    assert "the role 'mallory'" in run("ask", pg.url + "#ours", status=(1, 2))
    pg.sql("REVOKE TRIGGER ON ours.point FROM mallory")
    # code in the tables, whoever made it
    pg.sql(spy % "ours")
    for make, drop in (("CREATE TRIGGER t BEFORE INSERT ON ours.point EXECUTE FUNCTION ours.spy()", "DROP TRIGGER t ON ours.point"),
                       ("CREATE RULE r AS ON UPDATE TO ours.state DO ALSO INSERT INTO public.log VALUES(current_user)", "DROP RULE r ON ours.state"),
                       ("ALTER TABLE ours.meta ENABLE ROW LEVEL SECURITY", "ALTER TABLE ours.meta DISABLE ROW LEVEL SECURITY"),
                       ("CREATE TABLE ours.child() INHERITS(ours.point)", "DROP TABLE ours.child"),
                       ("ALTER TABLE ours.point ALTER COLUMN error SET DEFAULT query_to_xml('SELECT 1', true, true, '')::text",
                        "ALTER TABLE ours.point ALTER COLUMN error SET DEFAULT ''"),
                       ("CREATE INDEX i ON ours.point((upper(tag)))", "DROP INDEX ours.i"),
                       ("ALTER TABLE ours.point ADD CHECK (length(tag) < 100000)", "ALTER TABLE ours.point DROP CONSTRAINT point_tag_check"),
                       ("ALTER TABLE ours.point ADD COLUMN g text GENERATED ALWAYS AS (upper(tag)) STORED", "ALTER TABLE ours.point DROP COLUMN g")):
        pg.sql(make)
        assert "which gpmem does not make" in run("ask", pg.url + "#ours", status=(1, 2)), make
        pg.sql(drop)
        run("memo", "list", pg.url + "#ours")
    assert not ran(), ran()
    # a role that several people have, and a store of an administrator
    pg.sql("CREATE SCHEMA together AUTHORIZATION lab")
    one(as_role("alice") + "#together")
    pg.sql("ALTER TABLE together.point OWNER TO lab; ALTER TABLE together.state OWNER TO lab; ALTER TABLE together.meta OWNER TO lab")
    run("ask", as_role("bob") + "#together")
    pg.sql("GRANT ALL ON SCHEMA ours TO alice; GRANT SELECT ON ALL TABLES IN SCHEMA ours TO alice")
    assert len(rows(as_role("alice") + "#ours")) == 4


def check_messages(pg):
    assert "No such store" in run("memo", "list", pg.url + "#none", status=1)
    secret = pg.url.replace("gpmem@", "gpmem:secret@")
    assert "secret" not in run("memo", "show", secret + "#shared") + run("memo", "list", secret + "#none", status=1)
    assert "cannot connect" in run("memo", "list", "postgresql://gpmem@127.0.0.1:1/postgres", status=1)
    assert "does not exist" in run("memo", "list", pg.url.replace("/postgres", "/nothing"), status=1)
    assert "longer than 63" in run("memo", "list", pg.url + "#" + "x" * 64, status=1)
    odd = pg.url + '#a "quoted"; DROP'
    run("optimize", "--var", "x=0:1", "--budget", "2", "-q", "--store", odd, "--", "echo", "{x}")
    assert len(rows(odd)) == 2
    env = dict(os.environ, LD_LIBRARY_PATH="", GPMEM_TEST_SERVER=pg.url, GPMEM_TEST_TOOL=TOOL)
    r = subprocess.run([os.path.join(HERE, "..", "cli", "run_optimize.py"), os.path.join(HERE, "on_server.py"), "test_memo", "test_ends"], env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 0, r.stdout[-3000:]


with Postgres() as pg, WORK:
    for name, text in (("branin.py", BRANIN), ("square.sh", "#!/bin/sh\necho $1 >> %s\necho $(($1 * $1))\n" % at("squares"))):
        with open(at(name), "w") as f:
            f.write(text)
        os.chmod(at(name), 0o755)
    store = check_workers(pg, dict(os.environ, EVALUATED=at("evaluated")))
    check_beginning(pg, store)
    check_copies(pg, store)
    check_programs(pg)
    check_together(pg)
    check_strangers(pg)
    check_messages(pg)
print("stores on a server: all checks passed")
