/*
 * A named library is loaded.
 * @command: spin 1 1
 */
pid$target:no_such_library:work:entry { exit(0); }
