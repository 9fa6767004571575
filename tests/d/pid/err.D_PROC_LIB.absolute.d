/*
 * The function '-' takes addresses of the program, not those of a library.
 * @command: spin 10 1
 */
pid$target:libc.so.6:-:800
{
}
