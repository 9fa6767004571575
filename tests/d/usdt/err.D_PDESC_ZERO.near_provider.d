/*
 * The error for an unknown provider of static probes lists similar providers.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kines$target:::small
{
}
