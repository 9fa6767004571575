/*
 * If no static probe has the given provider, the error message lists similar providers.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kines$target:::small
{
}
