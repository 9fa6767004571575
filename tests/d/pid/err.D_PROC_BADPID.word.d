/* The number behind pid is a process. */
pidx:a.out:main:entry { exit(0); }
