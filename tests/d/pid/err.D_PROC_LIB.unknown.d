/*
 * A library in a description must be loaded.
 * @command: spin 1 1
 */
pid$target:no_such_library:work:entry { exit(0); }
