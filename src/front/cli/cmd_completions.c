/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem completions SHELL: a completion script for bash, zsh or fish, written from the table of
 * commands. `make install` puts the three where the shells look for them.
 */
#include "front/cli/command.h"
#include <string.h>

static bool wants_path(const struct option_row *o) {
    return strcmp(o->arg, "FILE") == 0 || strcmp(o->arg, "DIR") == 0 || strcmp(o->arg, "RUN") == 0;
}

/* The words of "a|b" as "a b", until the next call. */
static const char *words(const struct option_row *o) {
    static char text[128];
    snprintf(text, sizeof text, "%s", o->arg);
    for (char *at; (at = strchr(text, '|'));) *at = ' ';
    return text;
}

/* The commands, and what `gpmem help` explains: these and the names of the language. */
static struct buf names = BUF_INIT, topics = BUF_INIT;

static void add_topic(void *user, const char *name) {
    buf_printf(&topics, "%s ", name);
}

static void gather_names(void) {
    gpm_session *s = gpm_session_new(NULL);
    for (const struct command *l = command_list(); l->name; l++) buf_printf(&names, "%s ", l->name);
    buf_puts(&topics, names.data);
    gpm_complete(s, "", add_topic, NULL);
    gpm_session_free(s);
}

/* Text inside single quotes of a shell; a quote becomes `quote`, `extra` characters get a
 * backslash. */
static void print_quoted(const char *text, const char *quote, const char *extra) {
    for (; *text; text++) {
        if (strchr(extra, *text)) putchar('\\');
        if (*text == '\'')
            fputs(quote, stdout);
        else
            putchar(*text);
    }
}

/* ---- bash ---- */

static void bash_options(const struct command *c, const char *name) {
    struct option_list l = command_options(c);
    struct buf all = BUF_INIT;
    printf("        %s)\n            case $prev in\n", name);
    for (size_t i = 0; i < l.n; i++) {
        const struct option_row *o = l.at[i];
        buf_printf(&all, "--%s ", o->name);
        if (!option_has_argument(o)) continue;
        printf("                --%s", o->name);
        if (o->letter) printf("|-%c", o->letter);
        if (o->kind == OPTION_CHOICE)
            printf(") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", words(o));
        else
            puts(wants_path(o) ? ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;"
                               : ") return ;;");
    }
    printf("            esac\n            options='%s' ;;\n", all.data);
    buf_release(&all);
}

static void print_bash(void) {
    printf("# bash completion of gpmem\n_gpmem() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command= options= i\n"
           "    local commands='%s'\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case \" $commands \" in *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; "
           "break ;; esac\n"
           "    done\n    COMPREPLY=()\n    case $command in\n",
           names.data);
    for (const struct command *l = command_list(); l->name; l++) bash_options(l, l->name);
    bash_options(&command_prompt, "''");
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        [[ -n $command ]] || options=\"$options --version\"\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
           "    elif [[ -z $command ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
           "    elif [[ $command == help ]]; then\n"
           "        COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n"
           "    elif [[ $command == completions ]]; then\n"
           "        COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))\n"
           "    else\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
           "complete -o filenames -F _gpmem gpmem\n",
           topics.data);
}

/* ---- zsh ---- */

static void zsh_option(const struct option_row *o) {
    fputs("                '", stdout);
    if (o->kind == OPTION_COUNT || o->kind == OPTION_LIST) {
        putchar('*');
    } else if (o->letter) {
        printf("(-%c --%s)", o->letter, o->name);
    }
    if (o->letter) printf("'{-%c,--%s}'", o->letter, o->name);
    if (!o->letter) printf("--%s", o->name);
    putchar('[');
    print_quoted(o->help, "'\\''", "[]:");
    putchar(']');
    if (o->kind == OPTION_CHOICE)
        printf(":value:(%s)", words(o));
    else if (option_has_argument(o))
        printf(":%s:%s", o->arg, wants_path(o) ? "_files" : "");
    puts("' \\");
}

static void zsh_options(const struct command *c) {
    struct option_list l = command_options(c);
    for (size_t i = 0; i < l.n; i++) zsh_option(l.at[i]);
}

static void print_zsh(void) {
    fputs("#compdef gpmem\n_gpmem() {\n    local -a commands\n    commands=(\n", stdout);
    for (const struct command *c = command_list(); c->name; c++) {
        printf("        '%s:", c->name);
        print_quoted(c->row->summary, "'\\''", ":");
        puts("'");
    }
    fputs("    )\n    local context state state_descr line\n    typeset -A opt_args\n"
          "    _arguments -C \\\n",
          stdout);
    zsh_options(&command_prompt);
    fputs("                '--version[print the version]' \\\n"
          "                '1:command:->command' '*::argument:->argument'\n"
          "    case $state in\n    command) _describe command commands ;;\n    argument)\n"
          "        case $words[1] in\n",
          stdout);
    for (const struct command *l = command_list(); l->name; l++) {
        const char *name = l->name;
        printf("            %s) _arguments \\\n", name);
        zsh_options(l);
        fputs("                '*:argument:", stdout);
        if (strcmp(name, "help") == 0)
            printf("(%s)", topics.data);
        else
            fputs(strcmp(name, "completions") == 0 ? "(bash zsh fish)" : "_files", stdout);
        puts("' ;;");
    }
    fputs("        esac ;;\n    esac\n}\n_gpmem \"$@\"\n", stdout);
}

/* ---- fish ---- */

/* condition "": everywhere */
static void fish_options(const struct option_row *const *rows, size_t n, const char *condition) {
    for (size_t i = 0; i < n; i++) {
        const struct option_row *o = rows[i];
        printf("complete -c gpmem%s -l %s", condition, o->name);
        if (o->letter) printf(" -s %c", o->letter);
        if (o->kind == OPTION_CHOICE)
            printf(" -x -a '%s'", words(o));
        else if (option_has_argument(o))
            fputs(wants_path(o) ? " -r -F" : " -x", stdout);
        fputs(" -d '", stdout);
        print_quoted(o->help, "'", "'");
        puts("'");
    }
}

static void print_fish(void) {
    puts("# fish completion of gpmem");
    for (const struct command *c = command_list(); c->name; c++) {
        char condition[96];
        struct option_list l = command_options(c);
        printf("complete -c gpmem -n __fish_use_subcommand -f -a %s -d '%s'\n", c->name,
               c->row->summary);
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", c->name);
        fish_options(l.at, l.own, condition);
    }
    struct option_list l = command_options(&command_prompt);
    fish_options(l.at, l.own, " -n '__fish_use_subcommand'");
    fish_options(l.at + l.own, l.n - l.own, "");
    printf("complete -c gpmem -n __fish_use_subcommand -l version -d 'print the version'\n"
           "complete -c gpmem -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'\n"
           "complete -c gpmem -n '__fish_seen_subcommand_from help' -f -a '%s'\n",
           topics.data);
}

static int completions_run(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, argv[0]) != 0) continue;
        gather_names();
        shells[i].print();
        buf_release(&names);
        buf_release(&topics);
        return EXIT_FINE;
    }
    return complain(EXIT_USAGE, "there is no completion for '%s'; bash, zsh and fish have one",
                    argv[0]);
}

COMMAND(completions, 210) = {
    .args = "bash|zsh|fish",
    .summary = "Prints a completion script for a shell",
    .text = "For bash: source <(gpmem completions bash). `make install` installs all three.",
    .takes = {1, 1},
    .run = completions_run,
};
