/* The number after pid is a process id. */
pidx:a.out:main:entry { exit(0); }
