// Comes first, so that loading the other modules runs at lower priority, too.
import './lower-priority.ts'
export { packBody as pack } from './pack-body.ts'
