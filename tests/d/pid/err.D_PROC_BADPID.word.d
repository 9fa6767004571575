/* In a provider name, pid must be followed by a process id. */
pidx:a.out:main:entry { exit(0); }
