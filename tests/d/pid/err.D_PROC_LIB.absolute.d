/*
 * If the function is '-', the module must be the program, not a library.
 * @command: spin 10 1
 */
pid$target:libc.so.6:-:800
{
}
