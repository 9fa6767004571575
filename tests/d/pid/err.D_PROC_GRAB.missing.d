/* The process in a description must exist. */
pid99999999:a.out:main:entry { exit(0); }
