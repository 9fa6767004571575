/* $target needs -c or -p. */
pid$target:a.out:main:entry { exit(0); }
