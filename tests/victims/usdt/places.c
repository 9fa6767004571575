/* SPDX-License-Identifier: MIT */
/*
 * Probes in every place where C allows them. Prints what a tracer should print.
 */
#define DTRACE_USE_SEMAPHORES
#include <dtrace/sdt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

DTRACE_SEMAPHORE(places, at);
#define ON DTRACE_PROBE_ENABLED(places, at)

static void say(const char *place)
{
	DTRACE_PROBE1(places, at, place);
	printf("at %s\n", place);
	fflush(stdout);
}

static __attribute__((constructor)) void before_main(void)
{
	DTRACE_PROBE1(places, at, "constructor");
	if (ON)
		printf("at constructor\n");
}

static void on_signal(int number)
{
	DTRACE_PROBE1(places, at, number == SIGUSR1 ? "signal" : "?");
	if (ON)
		(void)!write(1, "at signal\n", 10);
}

static inline int inlined(void)
{
	return ON;
}

static __attribute__((noinline)) int returned(void)
{
	return ON ? 1 : 0;
}

static __attribute__((noreturn)) void never_returns(void)
{
	DTRACE_PROBE1(places, at, "noreturn");
	if (ON)
		printf("at noreturn\n");
	fflush(stdout);
	_exit(0);
}

/* The linker removes this function with --gc-sections. */
void dropped(void);
void dropped(void)
{
	DTRACE_PROBE1(places, at, "dropped");
}

int main(int argc, char **argv)
{
	int initialised = ON, n, array[1] = {ON};

	(void)argv;
	fflush(stdout);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (ON)
		say("if");
	if (!ON)
		say("not here");
	else
		say("else");
	if (argc > 0 && ON)
		say("and");
	if (ON || argc > 100)
		say("or");
	for (n = 0; ON && n < 2; n++)
		say("for");
	while (ON)
		if (--n < 0)
			break;
		else
			say("while");
	do {
		say("do");
	} while (ON && n++ < 0);
	switch (ON) {
	case 1:
		say("switch");
	}
	say(ON ? "conditional" : "not here");
	n = (argc++, ON);
	if (n)
		say("comma");
	if (initialised && array[0])
		say("initialisers");
	if (inlined() && returned())
		say("return");
	if (__extension__({ int on = ON; on; }))
		say("statement expression");
	if (ON)
		DTRACE_PROBE1(places, at, "then");
	else
		DTRACE_PROBE1(places, at, "not here");
	if (ON)
		printf("at then\n");
	never_returns();
}
