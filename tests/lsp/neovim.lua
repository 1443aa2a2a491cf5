-- What a person does in Neovim, without one: open a file, wait for diagnostics, take a fix, save.
local file, out = vim.env.NPUIFY_FILE, vim.env.NPUIFY_OUT
local told = {}
local function finish(why)
  told.why = why
  local stream = assert(io.open(out, "w"))
  stream:write(vim.fn.json_encode(told))
  stream:close()
  vim.cmd("qa!")
end
local ok, message = pcall(function()
  vim.cmd("edit " .. vim.fn.fnameescape(file))
  local folder = vim.env.NPUIFY_FOLDER
  local client = vim.lsp.start_client({
    name = "npuify",
    cmd = { vim.env.NPUIFY_PYTHON, "-m", "npuify", "lsp" },
    root_dir = folder,
    workspace_folders = { { uri = vim.uri_from_fname(folder), name = "project" } },
    init_options = { scan = false },
  })
  vim.lsp.buf_attach_client(0, client)
  local function shown()
    return vim.diagnostic.get(0)
  end
  if not vim.wait(60000, function() return #shown() > 0 end, 20) then return finish("no diagnostics") end
  told.before = {}
  for _, one in ipairs(shown()) do
    table.insert(told.before, { one.lnum, one.col, one.message })
  end
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(0),
    range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 0 } },
    context = { diagnostics = {}, only = { "source.fixAll" } },
  }
  local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)
  local action = answers[client].result[1]
  told.title = action.title
  vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
  vim.cmd("write")
  if not vim.wait(60000, function() return #shown() == 0 end, 20) then return finish("diagnostics stay") end
  finish("")
end)
if not ok then finish(tostring(message)) end
