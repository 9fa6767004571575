/*
 * Libraries must not have circular dependencies.
 * @flags: -L circle
 */
BEGIN { exit(0); }
