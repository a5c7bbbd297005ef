/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller.h"
#include "rp_log.h"

#define RP_LOG_COMPONENT "main"

#define FILES_WANTED 65536
#define STOP_SEC     5

/* Each connection is a descriptor. Not fatal: a service manager may forbid it. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_WANTED)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		rp_warn("cannot raise the limit of open files to %lu",
			(unsigned long)limit.rlim_cur);
}

static void
on_second_signal(int sig)
{
	_exit(128 + sig);
}

/* From here on a second signal, or a stop that hangs, ends the process at once. */
static void
arm_hard_exit(const sigset_t *signals)
{
	struct sigaction action = {.sa_handler = on_second_signal};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	alarm(STOP_SEC);
	sigprocmask(SIG_UNBLOCK, signals, NULL);
}

static void
serve(struct controller *c, const sigset_t *signals)
{
	struct timespec second = {.tv_sec = 1};
	int sig;

	for (;;) {
		sig = sigtimedwait(signals, NULL, &second);
		if (sig == SIGTERM || sig == SIGINT)
			break;
		if (sig < 0 && errno != EAGAIN && errno != EINTR)
			break;
		controller_tick(c);
	}
	rp_info("stopping on signal %d", sig);
}

static int
run(const struct controller_conf *conf)
{
	struct controller controller = {0};
	char why[STORE_WHY_MAX];
	sigset_t signals;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	raise_file_limit();
	rc = controller_start(&controller, conf, why);
	if (rc != 0)
		fprintf(stderr, "rpingmesh-controller: %s\n", why);
	else
		serve(&controller, &signals);
	arm_hard_exit(&signals);
	controller_stop(&controller);
	if (rc == 0)
		rp_info("stopped");
	return rc;
}

int
main(int argc, char **argv)
{
	struct controller_conf conf = {0};
	struct rp_conf_result result;
	struct rp_buf text = {0};
	int rc = RP_EX_OK;

	if (rp_conf_load(&controller_program, argc, argv, environ, &conf, &result) != 0) {
		fprintf(stderr, "rpingmesh-controller: %s\n", result.why);
		return result.exit_code;
	}
	if (rp_conf_print(&controller_program, result.action, "", &text)) {
		fputs(rp_buf_text(&text), stdout);
		rp_buf_fini(&text);
	} else if (result.action == RP_CONF_TEST) {
		printf("configuration is valid%s%s\n", result.path[0] == '\0' ? "" : ": ",
			result.path);
	} else {
		rp_log_setup((enum rp_log_level)conf.log_level, (enum rp_log_format)conf.log_format,
			STDERR_FILENO);
		rp_info("configuration %s", result.path[0] == '\0' ? "built in" : result.path);
		rc = run(&conf);
	}
	rp_opt_fini(controller_program.table, &conf);
	return rc == RP_EX_OK && fflush(stdout) != 0 ? RP_EX_IO : rc;
}
