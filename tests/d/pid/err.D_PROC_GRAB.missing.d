/* The named process exists. */
pid99999999:a.out:main:entry { exit(0); }
