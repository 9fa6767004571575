/* The process is there. */
pid99999999:a.out:main:entry { exit(0); }
