/** A parsed JSON object, of which nothing else is known. */
export type JsonObject = Readonly<Record<string, unknown>>
