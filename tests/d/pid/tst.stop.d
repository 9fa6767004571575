/*
 * stop() stops the target, and SIGCONT resumes it.
 * @flags: -q -w
 * @command: spin 10 1
 */
pid$target:a.out:work:entry / arg0 == 5 / { stop(); system("kill -CONT %d", pid); }
END { printf("end\n"); }
