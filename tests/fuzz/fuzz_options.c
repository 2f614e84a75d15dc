/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of the options of every command: the input is a command line, a word in each line,
 * the command first. It runs in a process of its own, in a folder with a few files, since a process
 * of the tool runs one command; it may refuse, but no signal may end it, except that its time is
 * up. A report of a sanitizer ends it by a signal. Run: fuzz_options -dict=options.dict
 * corpus/options
 */
#include "front/cli/command.h"
#include "fuzz/scratch.h"
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 24, SECONDS = 10 };

/* Without these a report ends a process with status 1, as a refusal does. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void) {
    return "abort_on_error=1";
}

const char *__ubsan_default_options(void) {
    return "abort_on_error=1";
}

/* The counters of edges, where the fuzzer is linked. What a command reaches is counted here, too,
 * since their pages are shared with its process. The linker names their section's ends; in C these
 * names belong to the compiler's own variables. */
__asm__(".globl counter_ends\n.pushsection .data, \"aw\"\n.balign 8\ncounter_ends: .quad "
        "__start___sancov_cntrs, __stop___sancov_cntrs\n"
        ".weak __start___sancov_cntrs\n.weak __stop___sancov_cntrs\n.popsection\n");
extern uintptr_t counter_ends[2];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (counter_ends[0] + page - 1) / page * page;
    uintptr_t to = counter_ends[1] / page * page;
    if (from < to && mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    return 0;
}

static void write_files(void) {
    static const char series[] =
        "t,y\n1,1\n2,3\n3,2\n4,5\n5,4\n6,6\n7,5\n8,8\n9,7\n10,9\n11,8\n12,11\n",
                      scene[] = "{\"panels\": [{\"items\": [{\"type\": \"line\", \"x\": [1, 2], "
                                "\"y\": [1, 2]}]}]}",
                      program[] = "assume x = normal(0, 1); infer mh(default, one, 2); sample x;\n";
    scratch_write("series.csv", series, sizeof series - 1);
    scratch_write("scene.json", scene, sizeof scene - 1);
    scratch_write("p.vnts", program, sizeof program - 1);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    return at->level > 0 ? remove(path) : 0;
}

/* Nothing outside of the folder is named, and no program is found. */
static int run(int argc, char **argv) {
    const struct command *c = command_find(argv[0]);
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}; /* the fuzzer has them */
    struct rlimit none = {0, 0}, files = {1 << 20, 1 << 20};
    int nowhere = open("/dev/null", O_RDWR);
    if (!c || nowhere < 0 || chdir(scratch_dir)) return 0;
    for (int i = 0; i < 3; i++) dup2(nowhere, i);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &files);
    setenv("PATH", "/nowhere", 1);
    setenv("XDG_STATE_HOME", scratch_dir, 1);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    for (size_t i = 0; i < COUNT_OF(fatal); i++) signal(fatal[i], SIG_DFL);
    alarm(SECONDS);
    return command_main(c, argc, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *argv[WORDS + 1] = {0};
    int argc = 0, status = 0;
    if (size > 1024 || memchr(data, '/', size) || memmem(data, size, "..", 2)) return 0;
    char *text = strndup((const char *)data, size);
    for (char *word = strtok(text, "\n"); word && argc < WORDS; word = strtok(NULL, "\n"))
        argv[argc++] = word;
    scratch("");
    write_files();
    pid_t child = argc ? fork() : -1;
    if (child == 0) _exit(run(argc, argv));
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
        WTERMSIG(status) != SIGALRM)
        abort();
    nftw(scratch_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(text);
    return 0;
}
