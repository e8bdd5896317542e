-- Only what changes the serving itself. Giving the Deployment back at once is
-- `kubectl ridgeline release`: a server-side apply, which no action can make.
local actions = {}
local function offer(name, title, icon, useful)
  actions[name] = { displayName = title, iconClass = icon, disabled = not useful }
end

local spec = obj.spec or {}
local suspended = spec.suspend == true
local automatic = spec.mode == "Automatic"
local restores = spec.onDelete == "Restore"
local roll = obj.status and obj.status.rollout or {}
local canary = roll.state == "Canary"
local annotations = obj.metadata.annotations or {}
local ordered = annotations["ridgeline.dev/force-profile"] ~= nil

offer("suspend", "Suspend", "fa fa-fw fa-pause", not suspended)
offer("resume", "Resume", "fa fa-fw fa-play", suspended)
offer("automatic", "Let it act", "fa fa-fw fa-robot", not automatic)
offer("recommend-only", "Only recommend", "fa fa-fw fa-eye", automatic)
offer("promote-canary", "Promote the canary", "fa fa-fw fa-forward", canary)
offer("take-canary-back", "Take the canary back", "fa fa-fw fa-backward", canary and roll.from ~= nil)
offer("end-order", "End the order of a profile", "fa fa-fw fa-eraser", ordered)
offer("restore-on-delete", "Give the Deployment back on deletion", "fa fa-fw fa-undo", not restores)
offer("keep-on-delete", "Keep the profile on deletion", "fa fa-fw fa-lock", restores)
return actions
