/** Below `https://api.cohere.com`; the key goes as a bearer token. */
export const COHERE_CHAT_PATH = '/v2/chat'
