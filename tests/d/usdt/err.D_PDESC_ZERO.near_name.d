/*
 * If no static probe has the given name, the error message lists similar names.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kinds$target:::smal
{
}
