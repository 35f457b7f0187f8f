/** The `format` of reasoning details whose signatures a messages upstream has issued. */
export const SIGNED_FORMAT = 'anthropic-claude-v1'
