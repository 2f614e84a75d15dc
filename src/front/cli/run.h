/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a text in a session with the tool's conventions: errors printed, exit status decided,
 * Ctrl-C turned into gpm_interrupt or a flag.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H
#include "front/cli/command.h"
#include <signal.h>

/* While a session is in its slot, SIGINT interrupts it; a second SIGINT during one command ends the
 * process. Sessions that run at the same time have slots of their own, below INTERRUPT_MAX. */
#define INTERRUPT_MAX 4096
void interrupt_begin(size_t slot, gpm_session *s);
void interrupt_end(size_t slot);
bool interrupted(void); /* by SIGINT since the first of the sessions began */
/* While on, SIGINT, SIGTERM, SIGUSR1, SIGXCPU and SIGHUP set the flag and interrupt the sessions; a
 * second SIGINT ends the process. */
void stop_on_signals(bool on);
/* From here on, printing to a closed reader fails like a full disk and does not end the process,
 * for commands with results to save. This also holds once a signal has asked to stop. */
void outlive_readers(void);
const volatile sig_atomic_t *stop_flag(void);
/* The prompt: from here on no number of SIGINTs ends the process. What comes when
 * no session is in a slot is heard by the next one, so that a command can be stopped before it
 * began; forgotten when a new one is read, since it was meant for what is over by then. */
void interrupt_forever(void);
void interrupt_forget(void);

/* Data as --data has them: FILE or NAME=VALUE, the value as JSON. Length of NAME; 0: a file. */
size_t data_name(const char *text);
enum gpm_status give_data(gpm_session *s, const char *text);

/* Prints what a call left to say on stderr: the error, or after success its warnings (not when
 * quiet). */
void print_error(gpm_session *s, enum gpm_status st, bool quiet);
/* 0, 1 or 2 for the outcome of running `text`: a text that does not parse is a bad program. */
int exit_status_of(enum gpm_status st, const char *name, const char *text, size_t len);
/* Runs `text` in `s`, prints the error if any, returns the exit status. */
int run_text(gpm_session *s, const char *name, const char *text, size_t len);
#endif
