/** The description of the API as a whole, in Markdown: a newcomer reads it before the operations. */
export const INTRODUCTION = `An AI model gateway: one address for the models of many providers, and the management of their users, keys and budgets.

# First request

Model endpoints take an **API key** (\`sk-…\`), as \`Authorization: Bearer KEY\` or \`X-API-Key: KEY\`. The first start prints one and
keeps it in \`first-run.json\` in the data directory. Official clients of the chat-completions, responses and messages protocols
need the base URL and the key, nothing else.

# Logging in

Management endpoints take the **token of a session**:

1. \`POST /api/auth/login\` with phone and password answers with \`token\` and \`expires_in\` (seconds).
2. Send it as \`Authorization: Bearer TOKEN\`. It is not an API key, and an API key is not a token.
3. \`POST /api/auth/logout\` ends the session at once.

Repeat a change safely with an \`Idempotency-Key\` header: the second call gets the answer of the first, with
\`Idempotent-Replayed: true\`. Send the \`ETag\` that you read as \`If-Match\`: if somebody else has changed the resource, the answer is 412.
Lists are read page by page: send \`next_cursor\` of an answer as \`cursor\`.

# Money

Amounts are whole numbers of **micro-units**, millionths of a US dollar: 1 000 000 is one dollar. Nothing is rounded to cents.

Each request costs what its tokens, images or seconds cost at the prices of the catalogue; a model without a price is free.
Before a request is let in, the most that it can cost is reserved on the budgets of its key, member, departments and enterprise,
and on the wallet of a prepaid enterprise. Afterwards the true cost takes its place. If a budget has no room for the reservation, the
answer is 429 \`quota_exhausted\`, and its message names the budget. Budgets are for a calendar month in the time zone of the enterprise.

# Tags

Name what a request is for, and filter and group the log and the statistics by it: \`user\` and the members of \`metadata\` of chat and
responses requests, \`metadata.user_id\` of messages, and \`X-Sluice-Tag-NAME\` headers of every model endpoint become **tags** of the
request. A request has at most 8 tags; headers come first, then \`user\`, then \`metadata\`, and the first tag of a name counts. Values are
cut to 64 characters. Tags with longer names, and values that are no text, number or boolean, are left out. Nothing is refused for its
tags, and providers do not get the headers.

# Errors

Every error answer has the same body; the messages endpoints have that of their protocol.

\`\`\`json
{ "error": { "type": "rate_limit", "code": "RPM_EXCEEDED", "message": "…", "param": null, "request_id": "…" } }
\`\`\`

| type | status | what to do |
| --- | --- | --- |
| \`invalid_request\` | 400, 404, 405, 408, 409, 411, 412, 413, 415 | Change the request; \`param\` names the field. |
| \`auth_error\` | 401 | Send a valid key, or log in again. |
| \`access_denied\` | 403 | Ask somebody who has the role. |
| \`rate_limit\` | 429 | Wait for \`Retry-After\` seconds, then repeat. |
| \`quota_exhausted\` | 429 | Raise the budget, fill the wallet, or wait for the next month. |
| \`server_error\` | 500 | Repeat; if it happens again, tell the operator the \`request_id\`. |
| \`service_unavailable\` | 503 | Wait for \`Retry-After\` seconds, then repeat. |

\`type\` and \`code\` are stable, \`message\` is for people. \`request_id\` is also in the \`X-Request-Id\` header and finds the request
in the log. After the first byte of a stream an error comes as an event of the stream.
`
