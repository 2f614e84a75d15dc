#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random cases of a memo table that several processes share, on a PostgreSQL server of this machine and in a file: claims, values,
failures, renewals, texts, copies, one after the other and at the same time, while users are killed and join and the server starts anew.
A model in Python says what each must answer and what the table then holds; of what happens at the same time some order must give the
answers (arguments: the tool, [cases, default 500], [seed])."""
import copy, itertools, os, random, signal, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from engines import Postgres

TOOL = os.path.abspath(sys.argv[1])
CASES = int(sys.argv[2]) if len(sys.argv) > 2 else 500
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
USER = os.path.join(os.path.dirname(TOOL), "tests", "memo_cases")
INPUTS = ["0", "-0", "1", "0.1", "-1.5", "1e300", "4.9406564584124654e-324"]
TEXTS = ["no", "two\nlines\t", "quote ' \" \\ $1 %s", "é€\U0001f600", "x" * 3000, "\x01\x7f", "{}"]
FOREVER, NO_TIME = 1e6, -1


class Row:
    def __init__(self, x, rep, status, user):
        self.x, self.rep, self.status, self.y, self.error, self.seq, self.attempts = x, rep, status, 0.0, "", 0, 1
        self.owner, self.lease, self.abandoned = user.number, user.lease, False

    def key(self): return (self.x, self.rep, self.status, self.y, self.seq, self.attempts, self.error)


class Model:
    """What a table holds, and what it answers. `server`: a claim ends by its time alone; in a file also with its process, and one of
    another process that lives does not. `race`: of several that want one row at once, those that come too late get none."""

    def __init__(self, server):
        self.server, self.rows, self.texts, self.living, self.race = server, {}, {}, set(), False

    def void(self, row, user):
        if row.status != "claimed": return False
        if row.abandoned: return True
        if self.server or row.owner == user.number: return row.lease < 0
        return row.owner not in self.living

    def found(self, x):
        rows = sorted((r.status != "done", r.rep, i) for i, r in self.rows.items() if r.x == x)
        return rows[0][2] if rows else None

    def insert(self, number, x, more, status, user):
        reps = [r.rep for r in self.rows.values() if r.x == x]
        if number in self.rows: return False
        self.rows[number] = Row(x, max(reps) + 1 if more and reps else 0, status, user)
        return True

    def put(self, row, y, text):
        row.status, row.y, row.error = ("failed", 0.0, text) if text else ("done", y, "")
        row.seq = max(r.seq for r in self.rows.values()) + 1

    def take(self, row, user):
        row.owner, row.lease, row.abandoned, row.error, row.seq = user.number, user.lease, False, "", 0
        row.attempts += 1

    def claim(self, user, said, x):
        i = self.found(x)
        if i is None: return said[:2] == ["ok", "ours"] and self.insert(int(said[2]), x, False, "claimed", user)
        row = self.rows[i]
        if row.status == "done": return said[:2] == ["ok", "known"] and float(said[2]) == row.y
        if row.status == "failed": return said == ["ok", "failed"]
        if not self.void(row, user) or (self.race and said == ["ok", "busy"]): return said == ["ok", "busy"]
        self.take(row, user)
        return said == ["ok", "ours", str(i)]

    def reclaim(self, user, said):
        if self.race and said == ["ok", "none"]: return True
        for i in sorted(self.rows):
            if self.void(self.rows[i], user):
                self.take(self.rows[i], user)
                return said[:2] == ["ok", str(i)] and float(said[2]) == self.rows[i].x
        return said == ["ok", "none"]

    def new(self, user, said, x, asked):
        return said[0] == "ok" and self.insert(int(said[1]), x, True, "asked" if asked else "claimed", user)

    def finish(self, user, said, i, y, text):
        if i not in self.rows: return said[0] == "error"
        row = self.rows[i]
        if row.status == "done": return said[0] == "ok" and float(said[1]) == row.y
        self.put(row, y, text)
        return said[0] == "ok" and float(said[1]) == y

    def add(self, user, said, x, y, text, more):
        i = self.found(x)
        if i is not None and self.rows[i].status == "done" and not more:
            return said == ["ok", "0"] if text or self.rows[i].y == y else said[0] == "error"
        if i is None or more:
            i = max(self.rows, default=0) + 1  # not told: the list says it
            self.insert(i, x, more, "claimed", user)
            self.put(self.rows[i], y, text)
            return said == ["ok", "1"]
        self.put(self.rows[i], y, text)
        return said == ["ok", "0"]

    def renew(self, user, said, i):
        if i in self.rows and self.rows[i].status == "claimed": self.rows[i].lease, self.rows[i].abandoned = user.lease, False
        return said == ["ok"]

    def abandon(self, user, said, i):
        if i in self.rows and self.rows[i].status == "claimed": self.rows[i].abandoned = True
        return said == ["ok"]

    def unclaim(self, user, said, i):
        if i in self.rows and self.rows[i].status == "claimed" and self.rows[i].owner == user.number: del self.rows[i]
        return said == ["ok"]

    def delete(self, user, said, i):
        return said[0] == "error" if self.rows.pop(i, None) is None else said == ["ok"]

    def get(self, user, said, key):
        return said == ["ok", "-" + self.texts[key].encode().hex() if key in self.texts else "none"]

    def set(self, user, said, key, text):
        self.texts[key] = text
        return said == ["ok"]

    def both(self, user, said, key, text, keep):
        if keep: self.texts[key] = self.texts["other"] = text
        return said == ["ok"]

    def copied(self):
        m = copy.copy(self)
        m.rows, m.texts = {i: copy.copy(r) for i, r in self.rows.items()}, dict(self.texts)
        return m

    def shown(self): return sorted(r.key() for r in self.rows.values())
    def whole(self): return repr(sorted((i, vars(r)) for i, r in self.rows.items())) + repr(sorted(self.texts.items()))


def hexed(text): return text.encode().hex() or "-"


def line_of(op):
    """A case as the line that a user of the table gets."""
    name, *a = op
    form = {"claim": "{0}", "reclaim": "", "new": "{0} {1:d}", "finish": "{0} {1} {t}", "add": "{0} {1} {t} {3:d}", "renew": "{0}", "abandon": "{0}",
            "unclaim": "{0}", "delete": "{0}", "get": "{0}", "set": "{0} x {t}", "both": "{0} x {t} {2:d}", "list": "", "since": "{0}", "copy": "x x {t}"}[name]
    text = {"finish": 2, "add": 2, "set": 1, "both": 1, "copy": 0}
    return (name + " " + form.format(*(repr(v) if type(v) is float else v for v in a), t=hexed(a[text[name]]) if name in text else "")).strip()


class User:
    """A process that uses the table."""
    count = 0

    def __init__(self, store, lease):
        User.count += 1
        self.number, self.lease = User.count, lease
        self.process = subprocess.Popen([USER, store, repr(lease)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        assert self.answer() == ["ready"]

    def tell(self, op): self.process.stdin.write(line_of(op) + "\n")
    def answer(self): return self.process.stdout.readline().split()

    def ask(self, *op):
        self.tell(op)
        return self.answer()

    def end(self, kill):
        if kill: self.process.send_signal(signal.SIGKILL)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


def random_case(rng, model):
    x, y, text = float(rng.choice(INPUTS)), float(rng.randrange(4)), rng.choice(TEXTS)
    ids = list(model.rows) + [max(model.rows, default=0) + 1000]
    claimed = [i for i, r in model.rows.items() if r.status == "claimed"] or ids
    i, c = rng.choice(ids), rng.choice(claimed)
    return rng.choice([("claim", x)] * 6 + [("reclaim",)] * 2 + [("finish", c, y, "")] * 3 + [("finish", c, y, text), ("finish", i, y, "")] +
                      [("renew", c), ("abandon", c), ("unclaim", c), ("delete", i), ("new", x, rng.random() < 0.5)] +
                      [("add", x, y, rng.choice(["", text]), rng.random() < 0.3)] * 2 +
                      [("get", rng.choice("abc")), ("set", rng.choice("abc"), text), ("both", rng.choice("abc"), text, rng.random() < 0.7)])


def rows_of(said):
    out = {}
    for word in said[1:]:
        i, x, rep, status, y, seq, attempts, error = word.split(":")
        out[int(i)] = (float(x), int(rep), status, float(y), int(seq), int(attempts), bytes.fromhex(error[1:]).decode())
    return out


def settle(models, said, what):
    """The models that hold what the table does; numbers of rows that were not told are those of the list."""
    assert said[0] == "ok", (what, said)
    got = rows_of(said)
    held = sorted(got.values())
    good = [m for m in models if m.shown() == held]
    assert good, (what, [("held alone", sorted(set(held) - set(m.shown())), "wanted alone", sorted(set(m.shown()) - set(held))) for m in models[:3]])
    number = {key[:2]: i for i, key in got.items()}  # inputs and replicate
    for m in good: m.rows = {number[r.key()[:2]]: r for r in m.rows.values()}
    return list({m.whole(): m for m in good}.values())


def one_case(rng, models, user):
    """What is done, and the models that answer alike."""
    op = random_case(rng, models[0])
    said = user.ask(*op)
    after = answering(models, [(user, op, said)])
    if not after and said[0] == "error" and op[0] in ("delete", "new", "add"):
        user.ask("list")  # the server was away: these are not tried again by themselves, and have done nothing
        said = user.ask(*op)
        after = answering(models, [(user, op, said)])
    assert after, (user.number, op, said, models[0].shown())
    return settle(after, user.ask("list"), op) if op[0] == "add" else after


def answering(models, done):
    """What the models are after these, in this order; those that answer otherwise are left out."""
    after = [m.copied() for m in models]
    return [m for m in after if all(getattr(m, op[0])(user, said, *op[1:]) for user, op, said in done)]


def at_once(rng, models, users):
    """Some order of them explains all answers."""
    some = rng.sample(users, rng.randrange(2, len(users) + 1))
    x = float(rng.choice(INPUTS))
    ops = [rng.choice([("claim", x), random_case(rng, models[0])]) for _ in some]
    for user, op in zip(some, ops): user.tell(op)
    done = [(user, op, user.answer()) for user, op in zip(some, ops)]
    for m in models: m.race = True
    after = [m for order in itertools.permutations(done) for m in answering(models, order)]
    assert after, ("no order explains it", ops, [said for _, _, said in done], models[0].shown())
    for m in after: m.race = False
    return settle(after, users[0].ask("list"), (ops, [said for _, _, said in done]))


def check(rng, store, copies, models, cases, restart):
    lease = lambda: rng.choice([FOREVER, FOREVER, NO_TIME])
    users = [User(store, lease()) for _ in range(4)]
    counts = {"alone": 0, "at once": 0, "killed": 0, "joined": 0, "copied": 0}
    for k in range(cases):
        chance = rng.random()
        for m in models: m.living = {u.number for u in users}
        if chance < 0.7:
            models = one_case(rng, models, rng.choice(users))
            counts["alone"] += 1
        elif chance < 0.97:
            models = at_once(rng, models, users)
            counts["at once"] += 1
        elif chance < 0.985:
            old, kill = users.pop(rng.randrange(len(users))), rng.random() < 0.5
            old.end(kill)
            users.append(User(store, lease()))
            counts["killed" if kill else "joined"] += 1
        elif chance < 0.99:
            shown = models[0].shown()
            after = rng.randrange(1 + max([key[4] for key in shown], default=0))
            said = list(rows_of(rng.choice(users).ask("since", after)).values())
            assert said == sorted([key for key in shown if key[4] > after], key=lambda key: key[4]), (after, said)
        else:
            to = next(copies)
            assert users[0].ask("copy", to) == ["ok", str(len(models[0].rows))]
            other = User(to, FOREVER)
            assert sorted(rows_of(other.ask("list")).values()) == models[0].shown()
            for key in "abc": assert other.ask("get", key) == users[0].ask("get", key)
            other.end(False)
            counts["copied"] += 1
        if restart and k % restart == restart - 1:
            models = answering(models, [(users[0], ("new", 7.0, True), users[0].ask("new", 7.0, True))])  # safe when it is told, and what came before
            restart_server()
            for user in users: models = one_case(rng, models, user)
        if k % 10 == 0: models = settle(models, rng.choice(users).ask("list"), "now and then")
    settle(models, users[0].ask("list"), "the end")
    for u in users: u.end(False)
    return counts


rng = random.Random(SEED)
with tempfile.TemporaryDirectory(prefix="gpmem-cases-") as work, Postgres() as pg:
    os.environ["XDG_STATE_HOME"] = os.path.join(work, "state")
    restart_server = lambda: pg.restart(rng.choice(["immediate", "fast"]), 0)
    for server in (True, False):
        names = ((pg.url + "#copy%d-%d" % (server, k)) if rng.random() < 0.5 else os.path.join(work, "copy%d-%d.db" % (server, k)) for k in itertools.count())
        store = pg.url + "#cases" if server else os.path.join(work, "cases.db")
        counts = check(rng, store, names, [Model(server)], CASES, max(CASES // 4, 100) if server else 0)
        print("a server:" if server else "a file:", ", ".join("%s %d" % (what, n) for what, n in counts.items()), flush=True)
