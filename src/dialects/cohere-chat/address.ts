/** Path below `https://api.cohere.com`. */
export const COHERE_CHAT_PATH = '/v2/chat'
