/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem jobs KIND FILE: a script of a few lines for a scheduler, which runs every chain as a task
 * of a job array and merges them. It is printed, not submitted: sites differ, and people read what
 * they submit.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include <string.h>

static struct {
    uint64_t chains;
    const char *out;
    double time;
    size_t memory;
} args = {.chains = 4, .time = 3600, .memory = (size_t)2 << 30};

/* In quotes for the shell; each of `twice`, which means something to what reads the command before,
 * is doubled. */
static void put_word(struct buf *b, const char *word, const char *twice) {
    buf_putc(b, '\'');
    for (; *word; word++) {
        if (*word == '\'') buf_puts(b, "'\\'");
        if (strchr(twice, *word)) buf_putc(b, *word);
        buf_putc(b, *word);
    }
    buf_putc(b, '\'');
}

/* What one task runs, and what runs when all are done. */
struct work {
    struct buf one, all;
};

/* chain: auto, or what the script's own language puts there. */
static void describe(struct work *w, const char *file, const char *chain, const char *twice) {
    buf_printf(&w->one, "gpmem run --seed %llu --chain %s --out ",
               (unsigned long long)session_args.seed, chain);
    struct buf folder = BUF_INIT;
    buf_printf(&folder, "%s/%s", args.out, strcmp(chain, "auto") ? chain : "{chain}");
    put_word(&w->one, folder.data, "");
    buf_puts(&w->one, *file == '-' ? " --continue -- " : " --continue ");
    put_word(&w->one, file, twice);
    buf_puts(&w->all, "gpmem merge ");
    buf_reset(&folder);
    buf_printf(&folder, "%s/all", args.out);
    put_word(&w->all, folder.data, "");
    for (uint64_t i = 0; i < args.chains; i++) {
        buf_reset(&folder);
        buf_printf(&folder, "%s/%llu", args.out, (unsigned long long)i);
        buf_putc(&w->all, ' ');
        put_word(&w->all, folder.data, "");
    }
    buf_release(&folder);
}

static unsigned long long last(void) {
    return (unsigned long long)args.chains - 1;
}
static unsigned long long megabytes(void) {
    return (unsigned long long)((args.memory + (1 << 20) - 1) >> 20);
}
static unsigned long long minutes(void) {
    return (unsigned long long)(args.time / 60 + 0.999);
}

/* Warned two minutes before the limit, a task stops in good order (status 4), is put back into the
 * queue and goes on. One that gets SIGTERM is not: Slurm itself puts back preempted jobs, and a
 * cancelled job should not return. Not by srun: where it gets the SIGTERM of a job that ends before
 * its task does, it kills that. Slurm sends SIGTERM to all that the batch step runs, and the
 * warning of --signal to its shell. */
static void slurm(struct buf *b, const struct work *w) {
    buf_printf(
        b,
        "#!/bin/bash\n"
        "#SBATCH --job-name=gpmem --array=0-%llu --ntasks=1 --cpus-per-task=1\n"
        "#SBATCH --time=%llu --mem=%lluM --requeue --signal=B:USR1@120 --open-mode=append\n"
        "#SBATCH --output=%s/%%a.log\n"
        "# mkdir -p %s; sbatch THIS; then: sbatch --dependency=afterok:JOBID --wrap THE LAST "
        "LINE\n"
        "trap 'warned=1; kill -USR1 $!' USR1\n"
        "trap : TERM  # which the run gets, too: the script waits for it\n"
        "%s &\n"
        "while kill -0 $! 2>&-; do wait $!; done\n"
        "wait $!; status=$?\n"
        "[ \"$warned $status\" != \"1 4\" ] || "
        "scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
        "exit $status\n"
        "# %s\n",
        last(), minutes(), megabytes(), args.out, args.out, w->one.data, w->all.data);
}

static void pbs(struct buf *b, const struct work *w) {
    buf_printf(b,
               "#!/bin/bash\n"
               "#PBS -N gpmem\n"
               "#PBS -J 0-%llu\n"
               "#PBS -l select=1:ncpus=1:mem=%llumb\n"
               "#PBS -l walltime=%llu:%02llu:00\n"
               "#PBS -r y\n"
               "# qsub THIS, again where tasks were stopped (status 4); then the last line\n"
               "cd \"$PBS_O_WORKDIR\"\n"
               "exec %s\n"
               "# %s\n",
               last(), megabytes(), minutes() / 60, minutes() % 60, w->one.data, w->all.data);
}

/* A task that ends with 4 was stopped and is started again; other failures count. */
static void kubernetes(struct buf *b, const struct work *w) {
    struct buf command = BUF_INIT; /* a text of JSON is one of YAML, and of Python */
    buf_printf(&command, "exec %s", w->one.data);
    struct buf text = BUF_INIT;
    buf_json_string(&text, command.data, command.len);
    buf_printf(b,
               "# kubectl apply -f THIS; the volume holds the program and takes the results\n"
               "apiVersion: batch/v1\n"
               "kind: Job\n"
               "metadata:\n"
               "  name: gpmem\n"
               "spec:\n"
               "  completions: %llu\n"
               "  parallelism: %llu\n"
               "  completionMode: Indexed\n"
               "  backoffLimit: %llu\n"
               "  podFailurePolicy:\n"
               "    rules:\n"
               "    - action: Ignore\n"
               "      onExitCodes: {operator: In, values: [4]}\n"
               "  template:\n"
               "    spec:\n"
               "      restartPolicy: Never\n"
               "      containers:\n"
               "      - name: chain\n"
               "        image: gpmem\n"
               "        workingDir: /work\n"
               "        command: [\"/bin/sh\", \"-c\"]\n"
               "        args: [%s]\n"
               "        resources: {requests: {cpu: 1, memory: %lluMi}}\n"
               "        volumeMounts: [{name: work, mountPath: /work}]\n"
               "      volumes: [{name: work, persistentVolumeClaim: {claimName: gpmem}}]\n"
               "# then: %s\n",
               (unsigned long long)args.chains, (unsigned long long)args.chains,
               (unsigned long long)(2 * args.chains), text.data, megabytes(), w->all.data);
    buf_release(&command);
    buf_release(&text);
}

static void snakemake(struct buf *b, const struct work *w) {
    struct buf one = BUF_INIT, all = BUF_INIT;
    buf_json_string(&one, w->one.data, w->one.len);
    buf_json_string(&all, w->all.data, w->all.len);
    buf_printf(b,
               "# snakemake --cores all -s THIS\n"
               "rule all:\n"
               "    input: expand(\"%s/{chain}.done\", chain=range(%llu))\n"
               "    output: directory(\"%s/all\")\n"
               "    shell: %s\n"
               "rule chain:\n"
               "    output: touch(\"%s/{chain}.done\")\n"
               "    resources: mem_mb=%llu, runtime=%llu\n"
               "    retries: 20\n"
               "    shell: %s\n",
               args.out, (unsigned long long)args.chains, args.out, all.data, args.out, megabytes(),
               minutes(), one.data);
    buf_release(&one);
    buf_release(&all);
}

static const struct {
    const char *name, *chain, *twice;
    void (*put)(struct buf *b, const struct work *w);
} kinds[] = {{"slurm", "auto", "", slurm},
             {"pbs", "auto", "", pbs},
             {"k8s", "auto", "$", kubernetes},
             {"snakemake", "{wildcards.chain}", "{}", snakemake}};

/* One line of UTF-8, which all of these languages can hold. */
static bool one_line(const char *name) {
    uint32_t code;
    for (size_t n = strlen(name), len; n; name += len, n -= len)
        if (!(len = utf8_decode(name, n, &code)) || utf8_steers(code)) return false;
    return true;
}

static int jobs(int argc, char **argv) {
    if (args.time < 60) return complain(EXIT_USAGE, "--time wants a minute at least");
    if (!args.out) args.out = "runs";
    if (*args.out == '-' || strpbrk(args.out, "\"'`{}\\%$# ") || !one_line(args.out))
        return complain(EXIT_USAGE,
                        "--out: the folder's name goes into a script; leave out blanks, line "
                        "ends, quotes, brackets, backslashes, %%, $ and #");
    if (!one_line(argv[1]))
        return complain(EXIT_USAGE,
                        "'%s': the file's name goes into a script; leave out line ends and "
                        "other control characters",
                        argv[1]);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, argv[0]) != 0) continue;
        struct work w = {BUF_INIT, BUF_INIT};
        struct buf text = BUF_INIT;
        describe(&w, argv[1], kinds[i].chain, kinds[i].twice);
        kinds[i].put(&text, &w);
        out_data(text.data, text.len);
        buf_release(&w.one);
        buf_release(&w.all);
        buf_release(&text);
        return EXIT_FINE;
    }
    return complain(EXIT_USAGE,
                    "there is no scheduler '%s' here; slurm, pbs, k8s and snakemake are", argv[0]);
}

static const struct option_row rows[] = {
    SEED_OPTION,
    {"chains", 'c', COUNTED(UINT, TASKS), "N", "chains, each a task (default 4)", &args.chains},
    {"out", 'o', OPTION_TEXT, "DIR", "folder of the runs (default runs)", &args.out},
    {"time", 0, OPTION_TIME, "S", "limit of a task's time (also 30m, 2h; default 1h)", &args.time},
    {"memory", 0, OPTION_BYTES, "M", "memory of a task (also 512M, 4G; default 2G)", &args.memory},
};

COMMAND(jobs, 34) = {
    .args = "slurm|pbs|k8s|snakemake FILE",
    .summary = "Prints a script that runs chains as tasks of a scheduler",
    .text =
        "Each task runs `gpmem run --chain auto --continue --out DIR/{chain} FILE`: one command "
        "that begins, goes on after a stop, and does nothing when its chain is finished. The "
        "last line merges the chains. The script is printed; read it, change it, submit it.",
    OPTIONS(rows),
    .takes = {2, 2},
    .run = jobs,
};
