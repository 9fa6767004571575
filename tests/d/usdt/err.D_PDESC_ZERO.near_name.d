/*
 * The error for a name that no static probe has lists similar names.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kinds$target:::smal
{
}
