/*
 * The name of a probe must be entry, return or an offset.
 * @command: spin 1 1
 */
pid$target:a.out:work:enter { exit(0); }
